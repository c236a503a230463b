// Command leader prints the time each second in one of its processes, until that loses its leadership or is ended.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := campaign(ctx, client, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func campaign(ctx context.Context, client *primitives.Client, out io.Writer) error {
	return client.NewElection("clock", nil).Run(ctx, func(ctx context.Context, lease *primitives.Lease) error {
		for ctx.Err() == nil {
			fmt.Fprintln(out, lease.Token(), time.Now())
			time.Sleep(time.Second)
		}
		return nil
	})
}
