package promhasp_test

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hasp-go/hasp/backend/embedded"
	promhasp "github.com/hasp-go/hasp/integration/prometheus"
	"github.com/hasp-go/hasp/primitives"
)

func ExampleNewTracer() {
	registry := prometheus.NewRegistry() // Or prometheus.DefaultRegisterer.
	tracer, err := promhasp.NewTracer(registry)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := embedded.NewClient(embedded.NewServer(), &primitives.Options{Tracer: tracer})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer client.Close(ctx)

	lease, err := client.NewLock("orders:42", nil).Lock(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = lease.Release(ctx)

	families, _ := registry.Gather()
	for _, family := range families {
		fmt.Println(family.GetName())
	}

	// Output:
	// hasp_acquire_wait_seconds
	// hasp_acquires_in_progress
	// hasp_acquires_total
	// hasp_held_seconds
	// hasp_leases_held
	// hasp_losses_total
	// hasp_renewal_failures_total
	// hasp_renewal_lag_seconds
	// hasp_subscription_gaps_total
}
