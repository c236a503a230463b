// Command rueidislock prints a report once a minute, on whichever of its replicas comes first.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

func main() {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{os.Getenv("REDIS_ADDR")}},
		KeyMajority:  1,
	})
	if err != nil {
		log.Fatal(err)
	}
	for at := time.Now().Truncate(time.Minute); ; at = at.Add(time.Minute) {
		time.Sleep(time.Until(at))
		if err := once(context.Background(), locker, at); err != nil {
			log.Print(err)
		}
	}
}

// once prints the report, unless a replica has done so for this minute.
func once(ctx context.Context, locker rueidislock.Locker, at time.Time) error {
	held, release, err := locker.WithContext(ctx, "report")
	if err != nil {
		return err
	}
	defer release()
	client := locker.Client()
	last, err := client.Do(held, client.B().Get().Key("report:last").Build()).AsInt64()
	if err != nil && !rueidis.IsRedisNil(err) {
		return err
	}
	if last >= at.Unix() {
		return nil
	}
	if err := report(held, at); err != nil {
		return err
	}
	set := client.B().Set().Key("report:last").Value(strconv.FormatInt(at.Unix(), 10)).Ex(24 * time.Hour)
	return client.Do(held, set.Build()).Error()
}

func report(_ context.Context, at time.Time) error {
	_, err := fmt.Println("report of", at)
	return err
}
