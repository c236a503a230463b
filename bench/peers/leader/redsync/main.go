// Command redsync prints the time each second in one of its processes. If that process loses its leadership, it
// steps down, and another leads.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"os/signal"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const lease = 30 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	locks := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")})))
	for ctx.Err() == nil {
		if err := campaign(ctx, locks); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// campaign waits until it is elected, and leads until ctx ends or the leadership is lost.
func campaign(ctx context.Context, locks *redsync.Redsync) (err error) {
	mutex := locks.NewMutex("clock", redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	held, stop := keep(ctx, mutex)
	defer func() {
		stop()
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	return lead(held)
}

// keep extends the mutex until stop is called. Its context ends if that fails.
func keep(ctx context.Context, mutex *redsync.Mutex) (held context.Context, stop context.CancelFunc) {
	held, stop = context.WithCancel(ctx)
	go func() {
		defer stop()
		ticker := time.NewTicker(lease / 3)
		defer ticker.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-ticker.C:
				if ok, err := mutex.ExtendContext(held); !ok || err != nil {
					return
				}
			}
		}
	}()
	return held, stop
}

func lead(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-time.After(time.Second):
			fmt.Println(now)
		}
	}
}
