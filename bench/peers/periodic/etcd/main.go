// Command etcd prints a report once a minute, on whichever of its replicas comes first.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Getenv("ETCD_ADDR")}})
	if err != nil {
		log.Fatal(err)
	}
	for at := time.Now().Truncate(time.Minute); ; at = at.Add(time.Minute) {
		time.Sleep(time.Until(at))
		if err := once(context.Background(), client, at); err != nil {
			log.Print(err)
		}
	}
}

// once prints the report, unless a replica has done so for this minute.
func once(ctx context.Context, client *clientv3.Client, at time.Time) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }() // This unlocks.
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.Ctx(), cancel)()
	mutex := concurrency.NewMutex(session, "report")
	if err := mutex.Lock(held); err != nil {
		return err
	}
	minute := at.UTC().Format(time.RFC3339)
	last, err := client.Get(held, "report-last")
	if err != nil {
		return err
	}
	if len(last.Kvs) > 0 && string(last.Kvs[0].Value) >= minute {
		return nil
	}
	if err := report(held, at); err != nil {
		return err
	}
	done, err := client.Txn(held).If(mutex.IsOwner()).Then(clientv3.OpPut("report-last", minute)).Commit()
	if err == nil && !done.Succeeded {
		return errors.New("the lock was lost")
	}
	return err
}

func report(_ context.Context, at time.Time) error {
	_, err := fmt.Println("report of", at)
	return err
}
