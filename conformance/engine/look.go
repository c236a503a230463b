package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// lookAt compares the keys of an object, how long they last, and what was published with the model.
func (m *machine[S, I, O]) lookAt(ctx context.Context, o *object[S]) {
	now := m.serverNow()
	m.pass(o, now)
	for i, key := range m.of.Stored(o.name, o.state) {
		exists := !key.empty()
		if i == 0 {
			key.Ends, exists = o.state.Ends, o.state.Kind != Absent
		}
		left := must.Get(must.Get(m.raw(ctx, "PTTL", key.Name)).Duration(time.Millisecond))
		must.Not(!key.lives(exists, now, left), "key %s lives for %v, but it is %v", key.Name, left, o.state)
		if i == 0 && o.state.Kind == Other {
			continue
		}
		if !m.virtual {
			key = untimed(key)
		}
		reply, err := m.raw(ctx, key.reader()...)
		must.Not(!holds(key, reply, err), "key %s holds %v, %w, but it is %v", key.Name, reply, err, o.state)
	}
	for channel, l := range o.lines {
		must.Not(m.virtual && !l.heard(l.ear.Events()), "published to %s were %q, want %q", channel, l.ear.Events(), l.posted)
	}
}

// untimed returns a key whose scores may be any: they are times, which are not known.
func untimed(key Key) Key {
	if key.Ranked == nil {
		key.Ranked = func(got map[string]string) bool {
			return slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(key.Set)))
		}
	}
	return key
}

// keyOf returns the own key of the object of a name.
func (p *Primitive[S, I, O]) keyOf(name string) string { return p.Stored(name, State[S]{})[0].Name }

// named returns the key of that name.
func named(keys []Key, name string) (key Key, ok bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{Name: name}, false
	}
	return keys[i], true
}

// lives reports whether PTTL can be left for a key; -2 ms: there is no key. Without a time it is not known how long.
func (k Key) lives(exists bool, at time.Time, left time.Duration) bool {
	switch none := left == -2*time.Millisecond; {
	case none || !exists:
		return none == !exists
	case at.IsZero():
		return left < 0 == (k.Ends.IsZero() && k.Life == 0)
	case !k.Ends.IsZero():
		return fits(k.Ends, at, left)
	case k.Life == 0:
		return left == -time.Millisecond
	}
	return left > 0 && left <= k.Life+max(0, k.After.Sub(at))+time.Second
}

// write makes a key what it is to be. Do runs a command.
func (k Key) write(do func(args ...string)) {
	do("DEL", k.Name)
	for field, text := range k.Fields {
		do("HSET", k.Name, field, text)
	}
	if k.Text != "" {
		do("SET", k.Name, k.Text)
	}
	for _, item := range k.List {
		do("RPUSH", k.Name, item)
	}
	for member, score := range k.Set {
		do("ZADD", k.Name, fmt.Sprint(score), member)
	}
}

// reader is the command that reads a key.
func (k Key) reader() []string {
	switch {
	case k.Fields != nil:
		return []string{"HGETALL", k.Name}
	case k.List != nil:
		return []string{"LRANGE", k.Name, "0", "-1"}
	case k.Set != nil:
		return []string{"ZRANGE", k.Name, "0", "-1", "WITHSCORES"}
	}
	return []string{"GET", k.Name}
}

// same reports whether a key holds what another does.
func (k Key) same(other Key) bool {
	return k.Text == other.Text && k.Ends == other.Ends && maps.Equal(k.Fields, other.Fields) &&
		slices.Equal(k.List, other.List) && maps.Equal(k.Set, other.Set)
}

// holds reports whether what its reader got is what a key is to hold.
func holds(key Key, reply backend.Reply, err error) bool {
	if err != nil {
		return false
	}
	items, itemsErr := reply.Items()
	switch {
	case key.Fields != nil:
		return itemsErr == nil && key.alike(pairs(items))
	case key.List != nil:
		return itemsErr == nil && slices.Equal(texts(items), key.List)
	case key.Set != nil:
		return itemsErr == nil && key.scored(pairs(items))
	}
	text, textErr := reply.Text()
	switch none := reply.IsNil() || itemsErr == nil && len(items) == 0; { // Of a text or a hash.
	case none, key.Text == "":
		return none && key.Text == ""
	case key.Equal != nil:
		return textErr == nil && key.Equal(text)
	}
	return textErr == nil && text == key.Text
}

// texts returns what is in a reply of several.
func texts(items []backend.Reply) []string {
	all := make([]string, len(items))
	for i := range items {
		all[i], _ = items[i].Text()
	}
	return all
}

// pairs returns what follows each text that has one behind it.
func pairs(items []backend.Reply) map[string]string {
	all, got := texts(items), map[string]string{}
	for i := 0; i+1 < len(all); i += 2 {
		got[all[i]] = all[i+1]
	}
	return got
}

// alike reports whether fields are those of a key.
func (k Key) alike(got map[string]string) bool {
	if k.Alike != nil {
		return k.Alike(got)
	}
	return maps.Equal(got, k.Fields)
}

// scored reports whether scores are those of a key.
func (k Key) scored(got map[string]string) bool {
	if k.Ranked != nil {
		return k.Ranked(got)
	}
	for member, want := range k.Set {
		if score, err := strconv.ParseFloat(got[member], 64); err != nil || score != float64(want) {
			return false
		}
	}
	return len(got) == len(k.Set)
}

// end closes all clients, over sound links, and fails with what is left over.
func (m *machine[S, I, O]) end(ctx context.Context) {
	for _, p := range m.parties {
		m.setLink(p, trouble{}, 0, 0)
	}
	for m.owed() {
		time.Sleep(10 * time.Millisecond)
		m.check(ctx)
	}
	for i, p := range m.parties {
		m.mu.Lock()
		good := p.good
		m.mu.Unlock()
		time.Sleep(time.Until(good)) // What was lost is known to be, and what was late has come.
		m.check(ctx)
		m.close(ctx, i)
	}
	for _, c := range m.calls {
		<-c.done
	}
	m.check(ctx)
	for _, o := range m.objects {
		m.deserted(ctx, o)
		if m.of.Takes != nil {
			must.In("key "+o.name, func() { m.conserved(o) })
		}
	}
}

// owed reports whether a call still waits though its client can know that it may go on.
func (m *machine[S, I, O]) owed() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.calls, func(c *call[S, I, O]) bool {
		p := m.parties[c.party]
		_, sound := m.soundSince(p)
		m.pass(c.object, m.serverNow())
		return c.waits() && c.ended.IsZero() && !c.notified.IsZero() && sound && p.deaf == 0 && m.Capabilities.PubSub
	})
}

// deserted checks that the right messages came to an object's channels, and that no client is subscribed
// to them any more.
func (m *machine[S, I, O]) deserted(ctx context.Context, o *object[S]) {
	limited, cancel := context.WithTimeout(ctx, harness.Patience/4)
	defer cancel()
	for channel, l := range o.lines {
		l.ear.Await(limited, fmt.Sprintf("messages %q to %s", l.posted, channel), l.heard)
		m.AwaitSubscribers(limited, channel, 1)
	}
}
