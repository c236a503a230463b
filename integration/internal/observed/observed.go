// Package observed has what the tracers for OpenTelemetry and for Prometheus share: buckets of histograms, and labels.
package observed

import (
	"context"
	"errors"

	"github.com/hasp-go/hasp/primitives"
)

// Upper bounds of buckets, in seconds. The watchdog's default lease is 30 s: renewals that are late by two thirds of
// it lose leases.
var (
	WaitBuckets = []float64{
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300,
	}
	HeldBuckets = []float64{
		.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 14400,
	}
	LagBuckets = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20}
)

// The outcomes of acquires, and of decisions.
var (
	Acquires  = []string{"acquired", "refused", "ended", "failed"}
	Decisions = []string{"allowed", "refused", "failed"}
)

// Outcome returns the outcome of an acquire under ctx that has returned err.
func Outcome(ctx context.Context, err error) string {
	switch {
	case err == nil:
		return "acquired"
	case ctx.Err() != nil: // The error may match ErrNotAcquired, too.
		return "ended"
	case errors.Is(err, primitives.ErrNotAcquired):
		return "refused"
	}
	return "failed"
}

// Loss returns the reason of a loss, and false for another cause of a lease's end.
func Loss(cause error) (reason primitives.LossReason, lost bool) {
	if !errors.Is(cause, primitives.ErrLost) {
		return "", false
	}
	loss := &primitives.LossError{}
	_ = errors.As(cause, &loss)
	return loss.Reason, true
}
