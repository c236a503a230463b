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

func schedule(s gocron.Scheduler, client *primitives.Client, every time.Duration, report gocronhasp.Work) error {
	locker, err := gocronhasp.NewPeriodicLocker(client, gocronhasp.Every(every), nil)
	if err != nil {
		return err
	}
	task, name := locker.Job("report", report)
	_, err = s.NewJob(gocron.DurationJob(every), gocron.NewTask(task), name)
	return err
}

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	report := func(_ context.Context, run gocronhasp.Run) error {
		log.Print("report of ", run.Period.Format(time.TimeOnly))
		return nil
	}
	scheduler, err := gocron.NewScheduler()
	if err != nil {
		log.Fatal(err)
	}
	if err := schedule(scheduler, client, time.Minute, report); err != nil {
		log.Fatal(err)
	}
	scheduler.Start()
	select {}
}
