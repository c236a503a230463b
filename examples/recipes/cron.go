package recipes

import (
	"context"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

// RunHourly runs the report of an hour in one of all replicas that call it, and reports whether this replica ran it.
func RunHourly(
	ctx context.Context, client *primitives.Client, hour time.Time, report func(ctx context.Context) error,
) (bool, error) {
	job := client.NewPeriodicJob("report", time.Hour, nil)
	return job.Do(ctx, hour, func(ctx context.Context, _ primitives.JobRun) error { return report(ctx) })
}
