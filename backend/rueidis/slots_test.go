package rueidisbackend

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// TestOutcomesByWhichSlotsAreForgotten: those of a node that is gone or was replaced, and of a slot that has moved.
func TestOutcomesByWhichSlotsAreForgotten(t *testing.T) {
	t.Parallel()
	server := func(code string) error { return &backend.ServerError{Code: code} }
	for i, err := range []error{
		nil, server("NOSCRIPT"), server("ASK"), server("OOM"),
		server("MOVED"), server("READONLY"), backend.ErrUnavailable, backend.Indeterminate(backend.ErrReply),
	} {
		s := &slots{read: time.Now()}
		s.forgetIfStale([]backend.Outcome{{}, {Err: err}})
		require.Equal(t, i > 3, s.read.IsZero(), err)
	}
}

func TestParseRange(t *testing.T) {
	t.Parallel()
	number, text := backend.IntegerReply, backend.StringReply
	list := func(items ...backend.Reply) backend.Reply { return backend.ArrayReply(items) }
	replica := list(text("10.0.0.9"), number(7000), text("id"))
	for name, test := range map[string]struct {
		entry backend.Reply
		want  slotRange
		fails bool
	}{
		"Address": {
			entry: list(number(1), number(5), list(text("10.0.0.1"), number(7001)), replica),
			want:  slotRange{1, 5, "10.0.0.1:7001"},
		},
		"IPv6": {
			entry: list(number(1), number(5), list(text("::1"), number(7001))),
			want:  slotRange{1, 5, "[::1]:7001"},
		},
		"HostOfTheAsked": {
			entry: list(number(0), number(0), list(backend.Reply{}, number(7001))),
			want:  slotRange{0, 0, "asked:7001"},
		},
		"NoPrimary":    {entry: list(number(1), number(5)), fails: true},
		"NoPort":       {entry: list(number(1), number(5), list(text("h"))), fails: true},
		"NoNumber":     {entry: list(text("x"), number(5), list(text("h"), number(1))), fails: true},
		"NotAnArray":   {entry: number(1), fails: true},
		"NodeIsNoList": {entry: list(number(1), number(5), number(7)), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseRange(test.entry, "asked:7000")
			if test.fails {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.want, got)
		})
	}
}

// TestFind asks for the first and the last slot of each range, of all, and of what no range has.
func TestFind(t *testing.T) {
	t.Parallel()
	ranges := []slotRange{{8192, 16382, "c"}, {0, 5460, "a"}, {5461, 5461, "b"}}
	for slot, want := range map[int]string{
		0: "a", 1: "a", 5459: "a", 5460: "a", 5461: "b", 5462: "", 8191: "", 8192: "c", 16382: "c", 16383: "",
	} {
		key := 0
		for backend.Slot(strconv.Itoa(key)) != slot {
			key++
		}
		got, found := find(ranges, strconv.Itoa(key))
		require.Equal(t, want, got, slot)
		require.Equal(t, want != "", found, slot)
	}
}
