// Command redsync runs the commands on its standard input, one for each line. It may run on many machines: all
// its processes together run at most two commands at a time.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

const (
	lease = 30 * time.Second
	pause = 100 * time.Millisecond
)

func main() {
	locks := redsync.New(goredis.NewPool(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")})))
	if err := work(context.Background(), locks, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// work returns the first error: of a command, or of its slot. A command that loses its slot is killed.
func work(ctx context.Context, locks *redsync.Redsync, commands io.Reader) error {
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		if err := run(ctx, locks, lines.Text()); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command in a slot.
func run(ctx context.Context, locks *redsync.Redsync, command string) (err error) {
	mutex, err := slot(ctx, locks)
	if err != nil {
		return err
	}
	held, stop := keep(ctx, mutex)
	defer func() {
		stop()
		_, unlockErr := mutex.UnlockContext(context.WithoutCancel(ctx))
		err = errors.Join(err, unlockErr)
	}()
	return exec.CommandContext(held, "sh", "-c", command).Run()
}

// slot tries the slots in turn, until one is free.
func slot(ctx context.Context, locks *redsync.Redsync) (*redsync.Mutex, error) {
	for try := 0; ; try++ {
		mutex := locks.NewMutex(fmt.Sprint("workers:", try%2), redsync.WithExpiry(lease))
		err := mutex.TryLockContext(ctx)
		var taken *redsync.ErrTaken
		if err == nil || !errors.As(err, &taken) {
			return mutex, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
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
