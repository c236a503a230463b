package workloads

import (
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts so.
	_ "embed"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/bench/benchmark"
)

// setNX is the name of the simplest lock that there is: SET NX PX, and a script that deletes the key if it has the
// holder's value. It neither waits nor renews.
const setNX = "setnx"

//go:embed compare_and_delete.lua
var compareAndDelete string

// loadSetNX loads the script that deletes, and returns its hash, and the milliseconds of a lease.
func loadSetNX(s *setup, by *benchmark.Client) (sha, ms string) {
	s.Must(by.Send(context.Background(), "SCRIPT", "LOAD", compareAndDelete))
	sum := sha1.Sum([]byte(compareAndDelete)) //nolint:gosec // As above.
	return hex.EncodeToString(sum[:]), strconv.FormatInt((30 * time.Second).Milliseconds(), 10)
}

// setNXLocks opens a client of the simplest lock, and returns its locks by name.
func (s *setup) setNXLocks() func(name string) benchmark.Lock {
	by := s.Open(false)
	sha, ms := loadSetNX(s, by)
	return func(name string) benchmark.Lock {
		return func(ctx context.Context) (func(context.Context) error, error) {
			value := rand.Text()
			return func(ctx context.Context) error { return by.Send(ctx, "EVALSHA", sha, "1", name, value) },
				by.Send(ctx, "SET", name, value, "NX", "PX", ms)
		}
	}
}

// setNXCalls returns the acquire and the release of the simplest lock, as calls of scripts.
func (s *setup) setNXCalls(by *benchmark.Client, name string) []backend.Call {
	sha, ms := loadSetNX(s, by)
	keys, value := []string{name}, rand.Text()
	return []backend.Call{
		{Script: &backend.Script{Command: "SET"}, Keys: keys, Args: []string{value, "NX", "PX", ms}},
		{Script: &backend.Script{SHA1: sha}, Keys: keys, Args: []string{value}},
	}
}
