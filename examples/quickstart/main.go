// Command quickstart lets eight workers, each with its own client, contend for one lock around a
// counter that is unsafe on purpose, and then start together by a latch, share a room by a semaphore
// and count in an atomic long. It needs nothing but Go, or runs on a real server:
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -backend rueidis -addr 127.0.0.1:6379
//
// It exits with 1 if two workers were ever inside at once, or another promise was broken.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"
)

func main() { os.Exit(run(os.Stdout, os.Stderr, os.Args[1:])) }

func run(stdout, stderr io.Writer, args []string) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	driver := flags.String("backend", "embedded", "embedded, rueidis, valkey or goredis")
	addr := flags.String("addr", "127.0.0.1:6379", "the server's `host:port`, not for embedded")
	workers := flags.Int("workers", 8, "how many contend")
	duration := flags.Duration("duration", 3*time.Second, "for how long")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if err := demo(stdout, *driver, *addr, *workers, *duration); err != nil {
		fmt.Fprintln(stderr, "demo: failed:", err)
		return 1
	}
	return 0
}

func demo(out io.Writer, driver, addr string, workers int, duration time.Duration) error {
	open, err := opener(driver, addr)
	if err != nil {
		return err
	}
	ctx := context.Background()
	fmt.Fprintf(out, "%d workers, each with its own client, one lock, backend %s\n", workers, driver)
	result, err := contend(ctx, out, open, workers, duration)
	if err != nil {
		return err
	}
	if err := result.check(); err != nil {
		return err
	}
	if err := loseLease(ctx, out, open); err != nil {
		return err
	}
	if err := together(ctx, out, open, workers); err != nil {
		return err
	}
	fmt.Fprintf(out, "demo: ok: %d critical sections, counter %d, never two inside\n",
		result.sections, result.counter)
	return nil
}
