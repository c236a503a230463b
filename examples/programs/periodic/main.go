// Command periodic prints a report once a minute, on whichever of its replicas comes first.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	every(context.Background(), client, report)
}

// every calls work for this minute and each later one. If a replica fails, another does its minute.
func every(ctx context.Context, client *primitives.Client, work func(ctx context.Context, at time.Time) error) {
	job := client.NewPeriodicJob("report", time.Minute, nil)
	for at := time.Now().Truncate(time.Minute); ctx.Err() == nil; at = at.Add(time.Minute) {
		time.Sleep(time.Until(at))
		ran, err := job.Do(ctx, at, func(ctx context.Context, run primitives.JobRun) error { return work(ctx, run.Period) })
		log.Printf("%s: ran here: %t, error: %v", at.Format(time.TimeOnly), ran, err)
	}
}

func report(_ context.Context, at time.Time) error {
	_, err := fmt.Println("report of", at)
	return err
}
