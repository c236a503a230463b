package fencing

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
)

// Schema makes the table of accounts, in SQLite and PostgreSQL. An account with a fence of NULL has no claim.
const Schema = `CREATE TABLE account (name TEXT PRIMARY KEY, balance BIGINT NOT NULL, fence BIGINT)`

const (
	// claim takes an equal token, too: the same holder reads again.
	claim = `
UPDATE account SET fence = $1 WHERE name = $2 AND (fence IS NULL OR fence <= $1) RETURNING balance`

	set = `
UPDATE account SET balance = $1 WHERE name = $2 AND fence = $3`

	// why is asked if a statement found no row.
	why = `SELECT fence FROM account WHERE name = $1`
)

// Querier is a database or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// ClaimInSQL claims an account and returns its balance, as [ClaimInRedis] does. In a transaction the claim counts
// from the commit; until then the database lets no other claim or write of the account pass.
func ClaimInSQL(ctx context.Context, q Querier, account string, token int64) (balance int64, err error) {
	err = q.QueryRowContext(ctx, claim, token, account).Scan(&balance)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, ask(ctx, q, account, token)
	case err != nil:
		return 0, fmt.Errorf("claim account %q: %w", account, err)
	}
	return balance, nil
}

// SetInSQL sets the balance of an account that is claimed under this token, as [SetInRedis] does.
func SetInSQL(ctx context.Context, q Querier, account string, balance, token int64) error {
	result, err := q.ExecContext(ctx, set, balance, account, token)
	if err != nil {
		return fmt.Errorf("set account %q: %w", account, err)
	}
	if rows, err := result.RowsAffected(); err != nil || rows > 0 {
		return err //nolint:wrapcheck // It says that the driver cannot count rows.
	}
	return ask(ctx, q, account, token)
}

// ask returns why a statement found no row. The statement alone has decided: ask comes later, and may find another
// token.
func ask(ctx context.Context, q Querier, account string, token int64) error {
	var fence sql.NullInt64
	err := q.QueryRowContext(ctx, why, account).Scan(&fence)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return ErrNoAccount
	case err != nil:
		return fmt.Errorf("ask for the fence of account %q: %w", account, err)
	}
	return refusal(token, fence.Int64)
}

// Row is an account, and the token of the lock that protects it. Each account has a lock of its own, so the
// tokens of a transaction differ: a MultiLock's lease has them in its Parts.
type Row struct {
	Account        string
	Token, Balance int64
}

// ClaimAll claims all of the accounts in one transaction, or none, and sets the rows' balances. Claim each account
// on which a write depends, also those that are only read.
func ClaimAll(ctx context.Context, db *sql.DB, rows ...*Row) error {
	return each(ctx, db, rows, func(tx *sql.Tx, row *Row) (err error) {
		row.Balance, err = ClaimInSQL(ctx, tx, row.Account, row.Token)
		return err
	})
}

// SetAll sets the balances of all of the accounts in one transaction, or, if one of them refuses its token, of none.
// The rows are all that the caller has claimed, also those whose balance stays.
func SetAll(ctx context.Context, db *sql.DB, rows ...*Row) error {
	return each(ctx, db, rows, func(tx *sql.Tx, row *Row) error {
		return SetInSQL(ctx, tx, row.Account, row.Balance, row.Token)
	})
}

// each calls do for each row in one transaction. The order is the same in every process, so two transactions
// never wait for each other.
func each(ctx context.Context, db *sql.DB, rows []*Row, do func(*sql.Tx, *Row) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // after Commit it does nothing
	for _, row := range slices.SortedFunc(slices.Values(rows), func(a, b *Row) int {
		return cmp.Compare(a.Account, b.Account)
	}) {
		if err := do(tx, row); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
