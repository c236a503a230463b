package recipes

import (
	"context"

	"github.com/hasp-go/hasp/primitives"
)

// Work does jobs until there are none left, ctx ends, or one fails. At most limit of them are under way at a
// time, over all workers of all processes that use the same name. A worker holds a slot only while it does a
// job. If its process crashes, the slot is free when its lease ends (30 s by default).
//
// A job's context ends if its slot is lost: then another worker may have the slot, and the job must stop.
func Work(
	ctx context.Context, client *primitives.Client, name string, limit int, jobs <-chan string,
	do func(ctx context.Context, job string) error,
) error {
	slots := client.NewCountingSemaphore(name, limit, nil)
	for job := range jobs {
		err := slots.Do(ctx, func(ctx context.Context, _ *primitives.Lease) error { return do(ctx, job) })
		if err != nil {
			return err
		}
	}
	return nil
}
