// Command etcd stores its standard input in a row of SQLite, unless a later process has claimed the row meanwhile.
package main

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log"
	"os"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	_ "modernc.org/sqlite" // the driver
)

func main() {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Getenv("ETCD_ADDR")}})
	db, openErr := sql.Open("sqlite", os.Getenv("DATABASE"))
	if err := errors.Join(err, openErr); err != nil {
		log.Fatal(err)
	}
	if err := store(context.Background(), client, db, os.Stdin); err != nil {
		log.Fatal(err)
	}
}

func store(ctx context.Context, client *clientv3.Client, db *sql.DB, input io.Reader) (err error) {
	session, err := concurrency.NewSession(client, concurrency.WithTTL(30))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }() // This unlocks.
	held, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(session.Ctx(), cancel)()
	mutex := concurrency.NewMutex(session, "report/1")
	if err := mutex.Lock(held); err != nil {
		return err
	}
	_, err = db.ExecContext(held, "UPDATE report SET fence = $1 WHERE id = 1 AND fence <= $1", mutex.Header().Revision)
	text, readErr := io.ReadAll(input) // may last longer than the lease
	if err := errors.Join(err, readErr); err != nil {
		return err
	}
	const update = "UPDATE report SET text = $1 WHERE id = 1 AND fence = $2 RETURNING id"
	return db.QueryRowContext(held, update, text, mutex.Header().Revision).Scan(new(int)) // no row: a later holder
}
