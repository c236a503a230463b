package goredisbackend

import (
	"errors"
	"fmt"
	"math/big"
	"net"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/hasp-go/hasp/backend"
)

// failure returns err, a server's as [*backend.ServerError].
func failure(err error) error {
	var reply redis.Error
	switch {
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("%w: %w", backend.ErrClosed, err)
	case errors.As(err, &reply):
		return backend.ParseServerError(reply.Error())
	}
	return err
}

// isReply reports whether err is an error reply or null, to whatever command.
func isReply(err error) bool { return errors.As(err, new(redis.Error)) }

func isServerError(err error) bool { return errors.As(err, new(*backend.ServerError)) }

// neverWritten reports whether the driver raises err only before it writes.
func neverWritten(err error) bool {
	var op *net.OpError
	switch {
	case errors.As(err, &op):
		return op.Op == "dial"
	case errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrPoolExhausted):
		return true
	}
	return errors.Is(err, redis.ErrClosed)
}

// convert returns the reply for what the driver read, so RESP3 gives what RESP2 gives (R5).
func convert(value any) (backend.Reply, error) {
	switch v := value.(type) {
	case nil:
		return backend.Reply{}, nil
	case int64:
		return backend.IntegerReply(v), nil
	case string:
		return backend.StringReply(v), nil
	case []any:
		return convertAll(v)
	case map[any]any:
		return convertMap(v)
	case bool:
		if v {
			return backend.IntegerReply(1), nil
		}
		return backend.IntegerReply(0), nil
	case float64:
		return backend.StringReply(strconv.FormatFloat(v, 'g', -1, 64)), nil
	case *big.Int:
		return backend.StringReply(v.String()), nil
	}
	return backend.Reply{}, fmt.Errorf("%w: %T", backend.ErrReply, value)
}

func convertAll(values []any) (backend.Reply, error) {
	items := make([]backend.Reply, len(values))
	for i, value := range values {
		var err error
		if items[i], err = convert(value); err != nil {
			return backend.Reply{}, err
		}
	}
	return backend.ArrayReply(items), nil
}

// convertMap lists names and values in turn, in no order, as servers do.
func convertMap(entries map[any]any) (backend.Reply, error) {
	flat := make([]any, 0, 2*len(entries))
	for name, value := range entries {
		flat = append(flat, name, value)
	}
	return convertAll(flat)
}
