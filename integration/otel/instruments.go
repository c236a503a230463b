package otelhasp

import (
	"errors"

	"go.opentelemetry.io/otel/metric"

	"github.com/hasp-go/hasp/integration/internal/observed"
)

// instruments are the metrics.
type instruments struct {
	wait, held, lag                              metric.Float64Histogram
	acquires, losses, failures, gaps, mismatches metric.Int64Counter
	throttled                                    metric.Int64Counter
	inProgress, leases                           metric.Int64UpDownCounter
	completed                                    metric.Float64Gauge
}

func newInstruments(meter metric.Meter) (instruments, error) {
	var errs []error
	seconds := func(name, description string, buckets []float64) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithDescription(description), metric.WithUnit("s"),
			metric.WithExplicitBucketBoundaries(buckets...))
		errs = append(errs, err)
		return h
	}
	counter := func(name, description, unit string) metric.Int64Counter {
		c, err := meter.Int64Counter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = append(errs, err)
		return c
	}
	gauge := func(name, description, unit string) metric.Int64UpDownCounter {
		c, err := meter.Int64UpDownCounter(name, metric.WithDescription(description), metric.WithUnit(unit))
		errs = append(errs, err)
		return c
	}
	completed, err := meter.Float64Gauge("hasp.job.last_completed",
		metric.WithDescription("Time for which a job was last completed, since 1970."), metric.WithUnit("s"))
	errs = append(errs, err)
	made := instruments{
		completed:  completed,
		wait:       seconds("hasp.acquires.wait", "Time from the start of an acquire to its end.", observed.WaitBuckets),
		held:       seconds("hasp.leases.duration", "Time from a grant to the end of the lease.", observed.HeldBuckets),
		lag:        seconds("hasp.renewal.lag", "How much later than planned the watchdog sent a renewal.", observed.LagBuckets),
		acquires:   counter("hasp.acquires", "Acquires that have ended.", "{acquire}"),
		inProgress: gauge("hasp.acquires.in_progress", "Acquires that have not ended.", "{acquire}"),
		leases:     gauge("hasp.leases.held", "Leases that are held.", "{lease}"),
		losses:     counter("hasp.losses", "Leases that were lost.", "{lease}"),
		failures:   counter("hasp.renewal.failures", "Leases that a renewal did not renew.", "{lease}"),
		gaps: counter("hasp.subscription.gaps", "How often messages to waiters may have been missed.",
			"{gap}"),
		mismatches: counter("hasp.mismatches", "Options that differ from what the server has.", "{option}"),
		throttled:  counter("hasp.throttle.decisions", "Decisions of throttles and rate limiters.", "{decision}"),
	}
	return made, errors.Join(errs...)
}
