package primitives_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log"

	"github.com/hasp-go/hasp/primitives"
)

// A transaction is committed while its lock is held: the next holder reads what this one has written. The token makes
// the row refuse a holder that lost the lock in a long pause.
func ExampleLock_Do_transaction() {
	err := client.NewLock("orders:43", nil).Do(context.Background(),
		func(ctx context.Context, lease *primitives.Lease) error {
			tx, err := db.BeginTx(ctx, nil) // If the lock is lost, ctx ends, and the database rolls back.
			if err != nil {
				return err
			}
			defer tx.Rollback() //nolint:errcheck // After a commit there is nothing to roll back.
			result, err := tx.ExecContext(ctx,
				"UPDATE orders SET packed = TRUE, fence = $1 WHERE id = 43 AND fence <= $1", lease.Token())
			if err != nil {
				return err
			}
			if rows, err := result.RowsAffected(); err != nil || rows == 0 {
				return errors.Join(err, errors.New("no such order, or a later holder has claimed it"))
			}
			return tx.Commit() // Do releases the lock after it.
		})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// one row changed
	// committed
}

// db is the application's database. This one only prints.
var db = sql.OpenDB(printing{})

type printing struct{ driver.Conn }

func (p printing) Connect(context.Context) (driver.Conn, error) { return p, nil }
func (p printing) Driver() driver.Driver                        { return nil }
func (p printing) Begin() (driver.Tx, error)                    { return p, nil }
func (p printing) Rollback() error                              { return nil }

func (p printing) Commit() error {
	_, err := fmt.Println("committed")
	return err
}

func (p printing) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	_, err := fmt.Println("one row changed")
	return driver.RowsAffected(1), err
}
