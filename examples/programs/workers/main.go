// Command workers runs each line of its input as a command. All its processes together run two at a time, at most.
package main

import (
	"bufio"
	"context"
	"io"
	"log"
	"os"
	"os/exec"

	"github.com/redis/go-redis/v9"

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}), nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := work(context.Background(), client, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

// work returns the first error: of a command, of its slot, or of the input. A command that loses its slot is killed.
func work(ctx context.Context, client *primitives.Client, commands io.Reader) error {
	slots := client.NewCountingSemaphore("workers", 2, nil)
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		if err := slots.Do(ctx, func(ctx context.Context, _ *primitives.Lease) error {
			return exec.CommandContext(ctx, "sh", "-c", lines.Text()).Run()
		}); err != nil {
			return err
		}
	}
	return lines.Err()
}
