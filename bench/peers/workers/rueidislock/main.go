// Command rueidislock runs the commands on its standard input, one for each line. It may run on many machines:
// all its processes together run at most two commands at a time.
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

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const pause = 100 * time.Millisecond

func main() {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS_ADDR")}},
		KeyMajority:  1,
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := work(context.Background(), locker, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// work returns the first error: of a command, or of its slot. A command that loses its slot is killed.
func work(ctx context.Context, locker rueidislock.Locker, commands io.Reader) error {
	for lines := bufio.NewScanner(commands); lines.Scan(); {
		held, release, err := slot(ctx, locker)
		if err != nil {
			return err
		}
		err = exec.CommandContext(held, "sh", "-c", lines.Text()).Run()
		release()
		if err != nil {
			return err
		}
	}
	return nil
}

// slot tries the slots in turn, until one is free.
func slot(ctx context.Context, locker rueidislock.Locker) (context.Context, context.CancelFunc, error) {
	for try := 0; ; try++ {
		held, release, err := locker.TryWithContext(ctx, fmt.Sprint("workers:", try%2))
		if !errors.Is(err, rueidislock.ErrNotLocked) {
			return held, release, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}
