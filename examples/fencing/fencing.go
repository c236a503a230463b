// Package fencing has resources that check fencing tokens: accounts in Redis, by Lua scripts, and accounts in a
// database, by SQL. A holder of the lock claims an account when it reads the balance. An account refuses a claim
// under a lower token than its last claim, and each write under another token. So a holder that was paused, and lost
// its lock meanwhile, changes nothing once the next holder has read.
//
// A check at the write is not enough. A, with token 1, reads 0 and is paused. B, with token 2, reads 0. A wakes,
// and writes 100. B writes 7. An account that learns of token 2 only by B's write accepts both, and the 100 are lost.
//
// Each check, and what it permits, must be one step: here one script, or one UPDATE.
package fencing

import (
	"context"
	"errors"
	"fmt"

	"github.com/hasp-go/hasp/backend"
)

//go:generate go tool luagen .

var (
	// ErrNoAccount means that there is no account of that name. Nothing was written.
	ErrNoAccount = errors.New("no such account")

	// ErrNotClaimed means that the account has no claim of this token: the holder has not claimed it, or the claim
	// was rolled back or lost. Nothing was written. The holder may claim the account, and begin from its balance.
	ErrNotClaimed = errors.New("the account is not claimed under this token")
)

// StaleTokenError means that a holder with a higher token has claimed the account. Nothing was written.
type StaleTokenError struct{ Token, Highest int64 }

// Error implements error.
func (e *StaleTokenError) Error() string {
	return fmt.Sprintf("token %d is lower than %d, which has claimed the account", e.Token, e.Highest)
}

// ClaimInRedis claims an account under a token, and returns its balance. From then on the account refuses lower
// tokens. A second claim under the same token returns the balance as it is then. ClaimInRedis returns
// [ErrNoAccount] or a [*StaleTokenError] if it has claimed nothing for that reason. After any other error the account
// may be claimed; the caller may call again.
func ClaimInRedis(ctx context.Context, r backend.ScriptRunner, account string, token int64) (balance int64, err error) {
	reply, err := AccountClaim(ctx, r, account, token)
	switch {
	case errors.Is(err, backend.ScriptError("NOACCOUNT")):
		return 0, ErrNoAccount
	case err != nil:
		return 0, fmt.Errorf("claim account %q: %w", account, err)
	case !reply.Claimed:
		return 0, &StaleTokenError{token, reply.Number}
	}
	return reply.Number, nil
}

// SetInRedis sets the balance of an account that is claimed under this token. It returns [ErrNoAccount],
// [ErrNotClaimed] or a [*StaleTokenError] if it has changed nothing for that reason.
//
// After any other error the balance may be set, now or later. Do not go on under this token: release the lock and
// acquire it again. The claim under the new token returns what is true, and refuses the earlier write if it comes late.
func SetInRedis(ctx context.Context, r backend.ScriptRunner, account string, balance, token int64) error {
	fence, refused, err := AccountSet(ctx, r, account, token, balance)
	switch {
	case errors.Is(err, backend.ScriptError("NOACCOUNT")):
		return ErrNoAccount
	case err != nil:
		return fmt.Errorf("set account %q: %w", account, err)
	case refused:
		return refusal(token, fence)
	}
	return nil
}

// refusal is the error of an account that refuses token. fence is the token of the last claim; 0: there was none.
func refusal(token, fence int64) error {
	if fence > token {
		return &StaleTokenError{token, fence}
	}
	return ErrNotClaimed
}
