// Package scriptcall is what all functions that luagen makes have in common. It checks their arguments and makes the words
// of a command from them, runs their script, and reads the reply. It is for generated code, and changes with luagen;
// programs use [Batch] and [Scored].
package scriptcall

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// Call is one call of a script. Its methods return arguments as the script gets them. After an argument that the
// script does not allow, Run sends nothing.
type Call struct {
	Script *backend.Script

	err error // of the first argument that is not allowed; it wraps [backend.ErrArgument] or [backend.ErrCrossSlot]
}

// Run runs the script. The first of the words are its keys, as many as keys says. An error of an argument is the
// result; an error of r is the result as it is.
func (c *Call) Run(ctx context.Context, r backend.ScriptRunner, keys int, words []string) Result {
	if c.err != nil {
		return Result{err: c.err}
	}
	reply, err := r.Run(ctx, c.Script, words[:keys:keys], words[keys:])
	return Result{c.Script, reply, err}
}

// refuse keeps the first error.
func (c *Call) refuse(name string, cause error, problem string) string {
	if c.err == nil {
		c.err = fmt.Errorf("script %s: %s: %w%s", c.Script.Name, name, cause, problem)
	}
	return ""
}

func (c *Call) refusef(name, problem string, args ...any) string {
	return c.refuse(name, backend.ErrArgument, ": "+fmt.Sprintf(problem, args...))
}

// NotEmpty refuses an empty list of keys. No other key names the server then.
func (c *Call) NotEmpty(name string, length int) {
	if length == 0 {
		c.refusef(name, "no key")
	}
}

// SameLength refuses a list that is not as long as another.
func (c *Call) SameLength(name string, length int, other string, want int) {
	if length != want {
		c.refusef(name, "%d for %d of %s", length, want, other)
	}
}

// Prefix returns the beginning of keys or channels. It must have a hash tag that is not empty.
func (c *Call) Prefix(name, prefix string) string {
	if _, rest, found := strings.Cut(prefix, "{"); !found || strings.IndexByte(rest, '}') < 1 {
		return c.refusef(name, "no hash tag in %q", prefix)
	}
	return prefix
}

// Command returns a command that must be one of choices.
func (c *Call) Command(name, command string, choices ...string) string {
	if !slices.ContainsFunc(choices, func(choice string) bool { return strings.EqualFold(choice, command) }) {
		return c.refusef(name, "%q is not %s", command, strings.Join(choices, "|"))
	}
	return command
}

// OneOf returns a text that must be one of choices.
func (c *Call) OneOf(name, v string, choices ...string) string {
	if !slices.Contains(choices, v) {
		return c.refusef(name, "%q is not %s", v, strings.Join(choices, "|"))
	}
	return v
}

// Channel returns a channel of a script that publishes by a command. For SPUBLISH it must have the slot of the
// script's keys: otherwise the script would fail after it has written.
func (c *Call) Channel(name, channel, command string, keys ...string) string {
	if strings.EqualFold(command, "SPUBLISH") && len(keys) > 0 && backend.Slot(channel) != backend.Slot(keys[0]) {
		return c.refuse(name, backend.ErrCrossSlot, "")
	}
	return channel
}

// ChannelPrefix is Channel for what channels begin with. For SPUBLISH it must have a hash tag, too.
func (c *Call) ChannelPrefix(name, prefix, command string, keys ...string) string {
	if strings.EqualFold(command, "SPUBLISH") {
		c.Prefix(name, prefix)
	}
	return c.Channel(name, prefix, command, keys...)
}

// Bytes returns v as a text.
func (c *Call) Bytes(_ string, v []byte) string { return string(v) }

// Bool returns "1" or "0".
func (c *Call) Bool(_ string, v bool) string {
	if v {
		return "1"
	}
	return "0"
}

// Int returns v in decimal.
func (c *Call) Int(_ string, v int64) string { return strconv.FormatInt(v, 10) }

// Float returns v with all its digits. NaN is refused.
func (c *Call) Float(name string, v float64) string {
	if math.IsNaN(v) {
		return c.refusef(name, "%v is no number", v)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// Milliseconds returns v in whole milliseconds. A v of less than one is refused: an expiry of 0 deletes the key. In(0, ...)
// takes 0.
func (c *Call) Milliseconds(name string, v time.Duration) string {
	if v < time.Millisecond {
		return c.refusef(name, "%v is less than a millisecond", v)
	}
	return strconv.FormatInt(v.Milliseconds(), 10)
}

// Seconds is Milliseconds in seconds.
func (c *Call) Seconds(name string, v time.Duration) string {
	if v < time.Second {
		return c.refusef(name, "%v is less than a second", v)
	}
	return strconv.FormatInt(int64(v/time.Second), 10)
}

// UnixMilli returns v in milliseconds since 1970.
func (c *Call) UnixMilli(_ string, v time.Time) string { return strconv.FormatInt(v.UnixMilli(), 10) }

// In returns the methods for arguments with bounds, of which [math.MinInt64] and [math.MaxInt64] are none.
func (c *Call) In(least, most int64) Bounded { return Bounded{c, Bounds{least, most}} }

// Bounded refuses arguments that are out of bounds.
type Bounded struct {
	call   *Call
	bounds Bounds
}

// Int returns v in decimal.
func (b Bounded) Int(name string, v int64) string {
	if !b.bounds.have(v) {
		return b.call.refusef(name, "%d is not in %v", v, b.bounds)
	}
	return strconv.FormatInt(v, 10)
}

// Milliseconds returns v in whole milliseconds. A v that would be cut to 0 is refused, too.
func (b Bounded) Milliseconds(name string, v time.Duration) string {
	return b.time(name, v, time.Millisecond, "milliseconds")
}

// Seconds is Milliseconds in seconds.
func (b Bounded) Seconds(name string, v time.Duration) string {
	return b.time(name, v, time.Second, "seconds")
}

func (b Bounded) time(name string, v, unit time.Duration, units string) string {
	n := int64(v / unit)
	if !b.bounds.have(n) || v != 0 && n == 0 {
		return b.call.refusef(name, "%v is not in %v %s", v, b.bounds, units)
	}
	return strconv.FormatInt(n, 10)
}

// OptionalKey returns what key points to, or no key for nil. An empty text would be a key of another node.
func OptionalKey(key *string) []string {
	if key == nil {
		return nil
	}
	return []string{*key}
}

// Optional returns word of what v points to, or "" for nil.
func Optional[T any](name string, v *T, word func(name string, v T) string) string {
	if v == nil {
		return ""
	}
	return word(name, *v)
}

// List returns word of each element.
func List[T any](name string, list []T, word func(name string, v T) string) []string {
	words := make([]string, len(list))
	for i, v := range list {
		words[i] = word(name, v)
	}
	return words
}

// Batch calls a function n times, with the numbers from 0, and returns its errors in this order. The calls are concurrent.
// Each gets a runner of its own, and the first script that each runs goes to b in one batch, when every call has run one
// or has returned. An error of one does not affect the others. ctx bounds the batch, as RunBatch says.
func Batch(ctx context.Context, b backend.Batcher, n int, call func(i int, r backend.ScriptRunner) error) []error {
	errs := make([]error, n)
	runners := make([]batched, n)
	var arrived, done sync.WaitGroup
	arrived.Add(n)
	for i := range runners {
		runners[i] = batched{b: b, arrived: arrived.Done, outcome: make(chan backend.Outcome, 1)}
		done.Go(func() {
			errs[i] = call(i, &runners[i])
			runners[i].once.Do(arrived.Done) // It has run nothing.
		})
	}
	arrived.Wait()
	var calls []backend.Call
	var outcomes []chan backend.Outcome
	for i := range runners {
		if runners[i].call.Script != nil {
			calls, outcomes = append(calls, runners[i].call), append(outcomes, runners[i].outcome)
		}
	}
	if len(calls) > 0 {
		b.RunBatch(ctx, calls, func(place int, outcome backend.Outcome) { outcomes[place] <- outcome })
	}
	done.Wait()
	return errs
}

// batched is the runner of one call of a batch.
type batched struct {
	b       backend.Batcher
	call    backend.Call // the first
	once    sync.Once
	arrived func()
	outcome chan backend.Outcome
}

// Run leaves the first script to the batch, and waits for its outcome. Others are batches of their own.
func (r *batched) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	call := backend.Call{Script: s, Keys: keys, Args: args}
	outcome := backend.Outcome{}
	if r.call.Script == nil {
		r.call = call
		r.once.Do(r.arrived)
		outcome = <-r.outcome
	} else {
		outcome = backend.RunAll(ctx, r.b, []backend.Call{call})[0]
	}
	return outcome.Reply, outcome.Err
}
