// Command start ships an order while it holds the order's lock. It has a log, and closes what it opened, also at SIGTERM.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func main() {
	if err := run(os.Getenv("REDIS_ADDR")); err != nil {
		log.Fatal(err)
	}
}

func run(addr string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger, err := zap.NewProduction()
	if err != nil {
		return err
	}
	conn := redis.NewClient(&redis.Options{Addr: addr}) // the client that your application has
	defer func() { err = errors.Join(err, conn.Close()) }()
	client, err := goredisbackend.NewClient(conn, &primitives.Options{
		Logger:    logger,  // gets the failures that no call returns
		KeyPrefix: "shop:", // is put before each name
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeClient(client)) }()
	return client.NewLock("orders:42", nil).Do(ctx, ship) // waits for the lock, and releases it
}

func ship(ctx context.Context, lease *primitives.Lease) error {
	log.Print("shipping, with the fencing token ", lease.Token())
	select {
	case <-time.After(time.Second): // the work
		return nil
	case <-ctx.Done(): // the lock is lost, or the process is to stop
		return context.Cause(ctx)
	}
}

func closeClient(client *primitives.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return client.Close(ctx)
}
