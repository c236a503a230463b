package otelhasp_test

import (
	"context"
	"fmt"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/hasp-go/hasp/backend/embedded"
	otelhasp "github.com/hasp-go/hasp/integration/otel"
	"github.com/hasp-go/hasp/primitives"
)

func ExampleNewTracer() {
	spans := tracetest.NewSpanRecorder() // Or an exporter.
	tracer, err := otelhasp.NewTracer(&otelhasp.Options{
		TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
	})
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
	for _, span := range spans.Ended() {
		fmt.Println(span.Name())
	}

	// Output: acquire lock
}
