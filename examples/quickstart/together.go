package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hasp-go/hasp/primitives"
)

const (
	startName  = "hasp:quickstart:start"
	roomName   = "hasp:quickstart:room"
	visitsName = "hasp:quickstart:visits"

	seats  = 3 // in the room
	visits = 5 // of each worker
)

// room counts who is in it.
type room struct {
	inside, most atomic.Int64
}

func (r *room) visit() {
	now := r.inside.Add(1)
	for was := r.most.Load(); now > was && !r.most.CompareAndSwap(was, now); was = r.most.Load() {
	}
	time.Sleep(2 * time.Millisecond)
	r.inside.Add(-1)
}

// together lets workers wait for a latch, go three at a time into a room by a semaphore, and count
// their visits in a number that they share.
func together(ctx context.Context, out io.Writer, open open, workers int) error {
	client, closeClient, err := open(nil)
	if err != nil {
		return err
	}
	defer closeClient()
	if err := prepare(ctx, client); err != nil {
		return err
	}
	var r room
	failed := make([]error, workers)
	var all sync.WaitGroup
	for i := range failed {
		all.Go(func() { failed[i] = visitRoom(ctx, open, &r) })
	}
	fmt.Fprintf(out, "%d workers wait for the start, then go %d at a time into a room\n", workers, seats)
	if _, err := client.NewCountDownLatch(startName).CountDown(ctx); err != nil {
		return err
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return r.report(ctx, out, client, int64(workers*visits))
}

// prepare makes new objects: an earlier run may have left some. The first worker makes the semaphore.
func prepare(ctx context.Context, client *primitives.Client) error {
	start, room := client.NewCountDownLatch(startName), client.NewSemaphore(roomName, nil)
	_, deletedStart := start.Delete(ctx)
	_, deletedRoom := room.Delete(ctx)
	_, set := start.InitCount(ctx, 1)
	return errors.Join(deletedStart, deletedRoom, set, client.NewAtomicLong(visitsName).Store(ctx, 0))
}

// visitRoom is one worker.
func visitRoom(ctx context.Context, open open, r *room) error {
	client, closeClient, err := open(nil)
	if err != nil {
		return err
	}
	defer closeClient()
	if err := client.NewCountDownLatch(startName).Wait(ctx); err != nil {
		return err
	}
	for range visits {
		if err := visitOnce(ctx, client, r); err != nil {
			return err
		}
	}
	return nil
}

func visitOnce(ctx context.Context, client *primitives.Client, r *room) error {
	door := client.NewSemaphore(roomName, &primitives.SemaphoreOptions{Permits: seats})
	if err := door.Acquire(ctx, 1); err != nil {
		return err
	}
	r.visit()
	_, err := client.NewAtomicLong(visitsName).Increment(ctx)
	return errors.Join(err, door.Release(ctx, 1))
}

// report prints the result, and fails if it is not what the primitives promise.
func (r *room) report(
	ctx context.Context, out io.Writer, client *primitives.Client, want int64,
) error {
	counted, err := client.NewAtomicLong(visitsName).LoadAndDelete(ctx)
	if err != nil {
		return err
	}
	_, err = client.NewSemaphore(roomName, nil).Delete(ctx)
	fmt.Fprintf(out, "  %d visits counted, %d in the room at most\n", counted, r.most.Load())
	if counted != want || r.most.Load() > seats {
		err = fmt.Errorf("want %d visits, and %d in the room at most", want, seats)
	}
	return err
}
