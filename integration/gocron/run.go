package gocronhasp

import (
	"context"
	"sync"
)

// run is one run of a job. A goroutine holds the lock, and waits until the job is done.
type run struct {
	locked   chan struct{} // closed when the goroutine holds the lock
	done     chan error    // receives the result of the job
	released chan error    // receives the result of the goroutine
	run      Run

	once sync.Once
	err  error // the result of the goroutine
}

// wait is the work of the goroutine.
func (r *run) wait(_ context.Context, run Run) error {
	r.run = run
	close(r.locked)
	return <-r.done
}

// do calls work under the lease, and ends the run, even if work panics.
func (r *run) do(ctx context.Context, work Work) (err error) {
	result := errPanicked
	defer func() { err = r.end(result) }()
	result = work(r.run.Lease.Context(ctx), r.run)
	return nil
}

// end ends the run with the job's result, unless it has ended, and returns the result of the goroutine.
func (r *run) end(result error) error {
	r.once.Do(func() {
		r.done <- result
		r.err = <-r.released
	})
	return r.err
}
