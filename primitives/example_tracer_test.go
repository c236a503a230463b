package primitives_test

import (
	"context"
	"fmt"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// printer is a tracer that prints how acquires and leases end.
type printer struct{}

// TraceAcquireStart might start a span, and return a context that has it.
func (printer) TraceAcquireStart(ctx context.Context, _ trace.AcquireStart) context.Context {
	return ctx
}

func (printer) TraceAcquireEnd(_ context.Context, e trace.AcquireEnd) {
	fmt.Printf("%s %q: attempts %d, contended %t, error %v\n", e.Object.Kind, e.Object.Name, e.Attempts, e.Contended, e.Err)
}

// TraceLeaseEnd makes printer a trace.LeaseTracer.
func (printer) TraceLeaseEnd(e trace.LeaseEnd) {
	fmt.Printf("%s %q: %v\n", e.Object.Kind, e.Object.Name, e.Cause)
}

// A tracer gets the start and the end of each acquire, and more if it has more methods.
func ExampleTracer() {
	client, err := primitives.New(newServer(), &primitives.Options{Tracer: printer{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer client.Close(ctx)

	orders := client.NewLock("orders:42", nil)
	lease, err := orders.Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, _ = orders.TryLock(ctx)
	_ = lease.Release(ctx)

	// Output:
	// lock "orders:42": attempts 1, contended false, error <nil>
	// lock "orders:42": attempts 1, contended true, error held by another owner
	// lock "orders:42": lease released
}
