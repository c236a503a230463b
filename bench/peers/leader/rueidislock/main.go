// Command rueidislock prints the time each second in one of its processes. If that process loses its leadership,
// it steps down, and another leads.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS_ADDR")}},
		KeyMajority:  1,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer locker.Close()
	for ctx.Err() == nil {
		if err := campaign(ctx, locker); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// campaign waits until it is elected, and leads until ctx ends or the leadership is lost.
func campaign(ctx context.Context, locker rueidislock.Locker) error {
	held, release, err := locker.WithContext(ctx, "clock")
	if err != nil {
		return err
	}
	defer release()
	return lead(held)
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
