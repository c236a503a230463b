package mutants

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hasp-go/hasp/backend"
)

// command returns a call of a plain command.
func command(name string, keys, args []string) backend.Call {
	script := backend.NewScript("mutant", "", -1, backend.RetryNever)
	script.Command = name
	return backend.Call{Script: script, Keys: keys, Args: args}
}

// evalsha makes c a bare EVALSHA that nothing is loaded for. One node only.
func evalsha(c *backend.Call) {
	words := append([]string{c.Script.SHA1, fmt.Sprint(len(c.Keys))}, c.Keys...)
	*c = command("EVALSHA", append(words, c.Args...), nil)
}

// reclass makes c a call of another class.
func reclass(c *backend.Call, retry backend.Retry) {
	script := *c.Script
	script.Retry, c.Script = retry, &script
}

func serverError(code, message string) error {
	return &backend.ServerError{Code: code, Message: message}
}

func isServerError(err error) bool { return errors.As(err, new(*backend.ServerError)) }

// isCode reports whether err is a server's error with that code.
func isCode(err error, code string) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && server.Code == code
}

// instead makes errors that wrap target another one.
func instead(target, other error) func(err error) error {
	return func(err error) error {
		if errors.Is(err, target) {
			return other
		}
		return err
	}
}

func sendMutants() []mutant {
	return []mutant{
		{"runs the commands of a script one by one", embedded, "RunsAtomically", onRun(breakAtomicity)},
		{"sends a key to where it does not live", embedded, "RunsOnTheOwningNode",
			onCall(func(c *backend.Call) {
				if len(c.Keys) == 1 && !strings.Contains(c.Keys[0], "{") {
					c.Keys = []string{c.Keys[0] + "'"}
				}
			})},
		{"leaves crossing slots to the server", cluster, "RefusesKeysOfDifferentSlots",
			onError(instead(backend.ErrCrossSlot,
				serverError("CROSSSLOT", "Keys in request don't hash to the same slot")))},
		{"counts slots where there are none", embedded, "TakesAnyKeysOnOneNode",
			onRun(func(good runFunc) runFunc {
				return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
					if err := backend.SameSlot(c.Keys); err != nil {
						return backend.Reply{}, err
					}
					return good(ctx, c)
				}
			})},
		{"takes a server's CROSSSLOT for an outage", embedded, "TakesAnyKeysOnOneNode",
			onError(instead(backend.ErrCrossSlot, backend.ErrUnavailable))},
		{"takes a script for loaded for ever", embedded, "LoadsAgainAfterFlush", loadsOnce},
		{"does not load again after a restart", oneServer, "LoadsAgainAfterRestart", func(b *broken) {
			onCall(func(c *backend.Call) {
				if b.events.restarted.Load() && c.Script.Command == "" {
					evalsha(c)
				}
			})(b)
		}},
		{"loads on one node while a slot moves", cluster, "LoadsWhileTheSlotMoves", func(b *broken) {
			good := b.run
			b.run = func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				if b.events.moving.Load() {
					return backend.Reply{}, serverError("NOSCRIPT", "No matching script")
				}
				return good(ctx, c)
			}
		}},
		{"sends EVAL", oneServer, "NeverSendsEval", onCall(func(c *backend.Call) {
			if c.Script.Command == "" && c.Script.Retry == backend.RetryNever {
				words := []string{c.Script.Source, fmt.Sprint(len(c.Keys))}
				*c = command("EVAL", append(append(words, c.Keys...), c.Args...), nil)
			}
		})},
		{"hides what the server says of a script that it does not know", embedded, "GivesUpLoading",
			onError(func(err error) error {
				if isCode(err, "NOSCRIPT") {
					return backend.ErrNotSupported
				}
				return err
			})},
		{"takes plain commands for scripts", embedded, "SendsAPlainCommand",
			onCall(func(c *backend.Call) {
				script := *c.Script
				script.Command, c.Script = "", &script
			})},
	}
}

// breakAtomicity runs the two commands of scripts that count two keys by themselves.
func breakAtomicity(good runFunc) runFunc {
	return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
		if len(c.Keys) != 2 || strings.Count(c.Script.Source, "redis.call('incr'") != 2 {
			return good(ctx, c)
		}
		var replies []backend.Reply
		for _, key := range c.Keys {
			reply, err := good(ctx, command("INCR", []string{key}, nil))
			if err != nil {
				return reply, err
			}
			replies = append(replies, reply)
			time.Sleep(time.Millisecond)
		}
		return backend.ArrayReply(replies), nil
	}
}

// loadsOnce sends EVALSHA and nothing else for scripts that were run before.
func loadsOnce(b *broken) {
	var loaded sync.Map
	onCall(func(c *backend.Call) {
		if c.Script.Command != "" || c.Script.Retry != backend.RetryNever {
			return
		}
		if _, known := loaded.LoadOrStore(c.Script.SHA1, true); known {
			evalsha(c)
		}
	})(b)
}

func onceMutants() []mutant {
	unknown := func(ctx context.Context, err error) bool {
		return errors.Is(err, backend.ErrIndeterminate) && ctx.Err() == nil
	}
	return []mutant{
		{"does not say that an outcome is unknown", oneServer, "RefusedCall", hideUnknown(backend.RetryNever)},
		{"does not say that the outcome of a repeatable script is unknown", oneServer,
			"LostRepeatableSettles", hideUnknown(backend.RetryRepeatable)},
		{"sends a script again after a lost reply", oneServer, "RefusedCall",
			again(func(ctx context.Context, c backend.Call, err error) bool {
				return unknown(ctx, err) && c.Script.Command == ""
			})},
		{"sends a command again after a lost reply", oneServer, "LostCommandSendsOnce",
			again(func(ctx context.Context, c backend.Call, err error) bool {
				return unknown(ctx, err) && c.Script.Command != ""
			})},
		{"takes a failed dial for a lost reply", oneServer, "RefusedDialIsDefinite",
			onError(func(err error) error {
				if isServerError(err) {
					return err
				}
				return backend.Indeterminate(err)
			})},
		{"takes a failed dial for an error like any other", oneServer, "NoServerIsUnavailable",
			onError(func(err error) error {
				if isServerError(err) {
					return err
				}
				return instead(backend.ErrUnavailable, errors.New("refused"))(err)
			})},
		{"offers a refused call once", oneServer, "OutlastsAShortOutage", onRun(func(good runFunc) runFunc {
			return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
				fast := *c.Script
				fast.FailFast, c.Script = true, &fast
				return good(ctx, c)
			}
		})},
		{"sends a script again after an error", embedded, "ErrorReplyStands",
			again(func(_ context.Context, _ backend.Call, err error) bool { return isServerError(err) })},
	}
}

// hideUnknown takes ErrIndeterminate from errors of scripts of a class.
func hideUnknown(class backend.Retry) func(*broken) {
	return onRun(func(good runFunc) runFunc {
		return func(ctx context.Context, c backend.Call) (backend.Reply, error) {
			hidden := c.Script.Retry == class
			if class == backend.RetryRepeatable && hidden {
				reclass(&c, backend.RetryNever) // Or the good one sends it again.
			}
			reply, err := good(ctx, c)
			if ctx.Err() == nil && hidden && errors.Is(err, backend.ErrIndeterminate) {
				err = errors.New("connection lost")
			}
			return reply, err
		}
	})
}
