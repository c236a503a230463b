package rueidisbackend

import (
	"fmt"

	"github.com/redis/rueidis"

	"github.com/hasp-go/hasp/backend"
)

// reply converts m, so RESP3 gives what RESP2 gives (R5).
func reply(m *rueidis.RedisMessage) (backend.Reply, error) {
	switch {
	case m.IsNil():
		return backend.Reply{}, nil
	case m.IsInt64():
		n, err := m.ToInt64()
		return backend.IntegerReply(n), err
	case m.IsArray():
		return arrayReply(m)
	case m.IsMap():
		return mapReply(m)
	case m.IsBool():
		return boolReply(m)
	}
	text, err := m.ToString() // also of a status or a double
	if err != nil {
		return backend.Reply{}, fmt.Errorf("%w: %w", backend.ErrReply, err)
	}
	return backend.StringReply(text), nil
}

func arrayReply(m *rueidis.RedisMessage) (backend.Reply, error) {
	messages, err := m.ToArray()
	if err != nil {
		return backend.Reply{}, err
	}
	items := make([]backend.Reply, len(messages))
	for i := range messages {
		if items[i], err = reply(&messages[i]); err != nil {
			return backend.Reply{}, err
		}
	}
	return backend.ArrayReply(items), nil
}

// mapReply lists names and values in turn, in no order, as servers do.
func mapReply(m *rueidis.RedisMessage) (backend.Reply, error) {
	entries, err := m.AsMap()
	if err != nil {
		return backend.Reply{}, err
	}
	items := make([]backend.Reply, 0, 2*len(entries))
	for name, value := range entries {
		item, err := reply(&value)
		if err != nil {
			return backend.Reply{}, err
		}
		items = append(items, backend.StringReply(name), item)
	}
	return backend.ArrayReply(items), nil
}

func boolReply(m *rueidis.RedisMessage) (backend.Reply, error) {
	if yes, _ := m.ToBool(); yes {
		return backend.IntegerReply(1), nil
	}
	return backend.IntegerReply(0), nil
}
