// Package fencing has resources that check fencing tokens: an account in Redis, by a Lua script, and one
// in a database, by SQL. Each refuses a writer whose token is lower than one that it has seen, so that a
// holder that was paused, and lost its lock meanwhile, changes nothing.
//
// The check and the write must be one step: here one script, and one UPDATE.
package fencing

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/backend"
)

//go:generate go tool luagen .

// ErrNoAccount means that there is no account of that name. Nothing was written.
var ErrNoAccount = errors.New("no such account")

// StaleTokenError means that a holder with a higher token has written. Nothing was written since.
type StaleTokenError struct{ Token, Highest int64 }

// Error implements error.
func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("token %d is lower than %d, which has written", e.Token, e.Highest)
}

// SetInRedis sets an account's balance under a token. It returns [ErrNoAccount] or a [*StaleTokenError]
// if it has changed nothing for that reason.
func SetInRedis(ctx context.Context, r backend.ScriptRunner, account string, balance, token int64) error {
	highest, refused, err := AccountSet(ctx, r, account, token, balance)
	switch {
	case errors.Is(err, ErrAccountSetNOACCOUNT):
		return ErrNoAccount
	case err != nil:
		return fmt.Errorf("set account %q: %w", account, err)
	case refused:
		return &StaleTokenError{token, highest}
	}
	return nil
}

// Schema makes the table of accounts, in SQLite and PostgreSQL. A fence of NULL has seen no token.
const Schema = `CREATE TABLE account (name TEXT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT)`

const (
	// update has the token twice: an equal one is the same holder's, and goes on.
	update = `UPDATE account SET balance = $1, fence = $2 WHERE name = $3 AND (fence IS NULL OR fence <= $2)`

	// why is asked if no row was updated.
	why = `SELECT fence FROM account WHERE name = $1`
)

// SetInSQL sets an account's balance under a token, as [SetInRedis] does. The UPDATE alone decides: the
// question why it changed no row comes later, and may find another token.
func SetInSQL(ctx context.Context, db *sql.DB, account string, balance, token int64) error {
	result, err := db.ExecContext(ctx, update, balance, token, account)
	if err != nil {
		return fmt.Errorf("set account %q: %w", account, err)
	}
	if rows, err := result.RowsAffected(); err != nil || rows > 0 {
		return err //nolint:wrapcheck // It says that the driver cannot count rows.
	}
	var highest sql.NullInt64
	err = db.QueryRowContext(ctx, why, account).Scan(&highest)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoAccount
	case err != nil:
		return fmt.Errorf("ask for the fence of account %q: %w", account, err)
	}
	return &StaleTokenError{token, highest.Int64}
}
