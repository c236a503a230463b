package embedded_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/adapter/testdata/adaptertest"
	"github.com/hasp-go/hasp/backend/embedded"
)

// wire writes a reply as RESP2 has it.
func wire(r backend.Reply) string {
	switch r.Kind() {
	case backend.KindInteger:
		n, _ := r.Int()
		return fmt.Sprintf(":%d\r\n", n)
	case backend.KindString:
		text, _ := r.Text()
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	case backend.KindArray:
		items, _ := r.Items()
		var all strings.Builder
		for _, item := range items {
			all.WriteString(wire(item))
		}
		return fmt.Sprintf("*%d\r\n%s", len(items), all.String())
	}
	return "$-1\r\n"
}

// nested returns a reply of several levels with all kinds in it.
func nested(n int64, text string, levels uint8) backend.Reply {
	reply := backend.ArrayReply([]backend.Reply{})
	for range levels % 6 {
		reply = backend.ArrayReply([]backend.Reply{
			{}, backend.IntegerReply(n), reply, backend.StringReply(text),
		})
	}
	return reply
}

// FuzzReplies decodes replies that were written by the book, and takes an error for what it is:
// alone it is the server's, in an array it is no reply to be read.
func FuzzReplies(f *testing.F) {
	f.Add(int64(1)<<53+1, "a\r\n$1\r\n\x00", uint8(3))
	f.Add(int64(math.MinInt64), "-ERR x", uint8(1))
	f.Add(int64(math.MaxInt64), "", uint8(0))
	f.Fuzz(func(t *testing.T, n int64, text string, levels uint8) {
		for _, want := range []backend.Reply{
			{}, backend.IntegerReply(n), backend.StringReply(text), nested(n, text, levels),
		} {
			require.Equal(t, want, adaptertest.Must(embedded.ReadReply([]byte(wire(want))))(t))
		}
		if strings.ContainsAny(text, "\r\n") {
			return
		}
		require.Equal(t, backend.StringReply(text), adaptertest.Must(embedded.ReadReply([]byte("+"+text+"\r\n")))(t))
		require.Equal(t, backend.ParseServerError(text), adaptertest.ErrOf(embedded.ReadReply([]byte("-"+text+"\r\n"))))
		require.ErrorIs(t, adaptertest.ErrOf(embedded.ReadReply([]byte("*1\r\n-"+text+"\r\n"))), backend.ErrReply)
	})
}

// told lists what a connection reports.
type told struct{ events []string }

func (e *told) Subscribed(channel string)       { e.add("subscribe", channel) }
func (e *told) Unsubscribed(channel string)     { e.add("unsubscribe", channel) }
func (e *told) Message(channel, payload string) { e.add("message", channel, payload) }

func (e *told) Lost(err error) { e.add("lost", err.Error()) }

func (e *told) add(words ...string) { e.events = append(e.events, strings.Join(words, "\x00")) }

// FuzzMessages gives a subscriber's connection frames in pieces of any size: each is reported once,
// whole and in order.
func FuzzMessages(f *testing.F) {
	f.Add("c", "p", "", uint8(1))
	f.Add("", "a\r\n$3\r\nfoo\r\n", "*3\r\n", uint8(5))
	f.Fuzz(func(t *testing.T, channel, one, two string, size uint8) {
		want := []string{
			"subscribe\x00" + channel, "message\x00" + channel + "\x00" + one,
			"message\x00" + channel + "\x00" + two, "unsubscribe\x00" + channel,
		}
		c := backend.StringReply(channel)
		var stream string
		for i, last := range []backend.Reply{
			backend.IntegerReply(1), backend.StringReply(one), backend.StringReply(two),
			backend.IntegerReply(0),
		} {
			word, _, _ := strings.Cut(want[i], "\x00")
			stream += wire(backend.ArrayReply([]backend.Reply{backend.StringReply(word), c, last}))
		}
		var pieces [][]byte
		for step := int(size) + 1; stream != ""; stream = stream[min(step, len(stream)):] {
			pieces = append(pieces, []byte(stream[:min(step, len(stream))]))
		}
		var got told
		embedded.Receive(&got, append(pieces, append([][]byte{nil}, pieces...)...)...)
		require.Equal(t, want, got.events)
	})
}
