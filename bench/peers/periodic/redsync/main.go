// Command redsync prints a report once a minute, on whichever of its replicas comes first.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const lease = 30 * time.Second

func main() {
	client := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")})
	locks := redsync.New(goredis.NewPool(client))
	for at := time.Now().Truncate(time.Minute); ; at = at.Add(time.Minute) {
		time.Sleep(time.Until(at))
		if err := once(context.Background(), client, locks, at); err != nil {
			log.Print(err)
		}
	}
}

// once prints the report, unless a replica has done so for this minute.
func once(ctx context.Context, client *redis.Client, locks *redsync.Redsync, at time.Time) (err error) {
	mutex := locks.NewMutex("report", redsync.WithExpiry(lease), redsync.WithTries(math.MaxInt))
	if err := mutex.LockContext(ctx); err != nil {
		return err
	}
	held, stop := keep(ctx, mutex)
	defer func() {
		stop()
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	last, err := client.Get(held, "report:last").Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	if last >= at.Unix() {
		return nil
	}
	if err := report(held, at); err != nil {
		return err
	}
	return client.Set(held, "report:last", at.Unix(), 24*time.Hour).Err()
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

func report(_ context.Context, at time.Time) error {
	_, err := fmt.Println("report of", at)
	return err
}
