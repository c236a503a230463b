package primitives_test

import (
	"context"
	"fmt"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// A tracer is a function for each event that it is to get. This one prints how acquires and leases end.
func ExampleTracer() {
	printer := &trace.Tracer{
		AcquireEnd: func(_ context.Context, e trace.AcquireEnd) {
			fmt.Printf("%s %q: attempts %d, contended %t, error %v\n",
				e.Object.Kind, e.Object.Name, e.Attempts, e.Contended, e.Err)
		},
		LeaseEnd: func(e trace.LeaseEnd) { fmt.Printf("%s %q: %v\n", e.Object.Kind, e.Object.Name, e.Cause) },
	}
	client, err := primitives.New(newServer(), &primitives.Options{Tracer: printer})
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
