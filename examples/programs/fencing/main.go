// Command fencing stores its standard input in a row of SQLite, unless a later process has claimed the row meanwhile.
package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"os"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver

	goredisbackend "github.com/hasp-go/hasp/backend/goredis"
	"github.com/hasp-go/hasp/primitives"
)

func main() {
	client, err := goredisbackend.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}), nil)
	db, openErr := sql.Open("sqlite", os.Getenv("DATABASE"))
	if err := errors.Join(err, openErr); err != nil {
		log.Fatal(err)
	}
	if err := store(context.Background(), client, db, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

func store(ctx context.Context, client *primitives.Client, db *sql.DB, input io.Reader) error {
	return client.NewFencedLock("report:1", nil).Do(ctx, func(ctx context.Context, lease *primitives.Lease) error {
		_, err := db.ExecContext(ctx, "UPDATE report SET fence = $1 WHERE id = 1 AND fence <= $1", lease.Token())
		text, readErr := io.ReadAll(input) // may last longer than the lease
		if err := errors.Join(err, readErr); err != nil {
			return err
		}
		const update = "UPDATE report SET text = $1 WHERE id = 1 AND fence = $2 RETURNING id"
		return db.QueryRowContext(ctx, update, text, lease.Token()).Scan(new(int)) // no row: a later holder has claimed it
	})
}
