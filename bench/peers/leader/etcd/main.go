// Command etcd prints the time each second in one of its processes. If that process loses its leadership, it
// steps down, and another leads.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Getenv("ETCD_ADDR")}})
	if err != nil {
		log.Fatal(err)
	}
	for ctx.Err() == nil {
		if err := campaign(ctx, client); err != nil {
			log.Print(err)
			time.Sleep(time.Second)
		}
	}
}

// campaign waits until it is elected, and leads until ctx ends or the leadership is lost.
func campaign(ctx context.Context, client *clientv3.Client) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }() // This resigns.
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.Ctx(), cancel)()
	if err := concurrency.NewElection(session, "clock").Campaign(held, "a candidate"); err != nil {
		return err
	}
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
