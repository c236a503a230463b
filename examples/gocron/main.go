// Command gocron reports once a minute, on one of its replicas: start several with REDIS=127.0.0.1:6379 go run .
package main

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/go-co-op/gocron/v2"
	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	gocronhasp "github.com/hasp-go/hasp/integration/gocron"
	"github.com/hasp-go/hasp/primitives"
)

func schedule(client *primitives.Client, every time.Duration, report gocronhasp.Work) (gocron.Scheduler, error) {
	locker := gocronhasp.NewPeriodicLocker(client, every, nil)
	s, err := gocron.NewScheduler(gocron.WithDistributedLocker(locker))
	if err != nil {
		return nil, err
	}
	_, err = s.NewJob(gocron.DurationJob(every), gocron.NewTask(locker.Task("report", report)), gocron.WithName("report"))
	return s, err
}

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	report := func(context.Context, *primitives.Lease) error { log.Print("report"); return nil }
	scheduler, err := schedule(client, time.Minute, report)
	if err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	select {}
}
