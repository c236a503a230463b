package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/conformance/harness"
	"github.com/hasp-go/hasp/conformance/must"
)

// lookAt compares the keys of an object, how long they live, and what was published with the model.
func (m *machine[S, I, O]) lookAt(ctx context.Context, o *object[S]) {
	left, asked := m.life(ctx, o.name)
	m.keepIf(o, asked, func(s State[S]) bool { return m.fitsLife(s, asked, left) }, "which lives for %v", left)
	for i := range m.of.Stored(o.name, o.now()) {
		m.lookAtKey(ctx, o, i)
	}
	if m.virtual && o.ear != nil {
		got := len(o.ear.Events())
		must.If(got != len(o.messages), "published were %q, want %q", o.ear.Events(), o.messages)
	}
}

// fitsLife reports whether PTTL can be left for an object that is s; -2 ms: there is no key.
func (m *machine[S, I, O]) fitsLife(s State[S], at Moment, left time.Duration) bool {
	if none := left == -2*time.Millisecond; none || s.Kind == Absent {
		return none == (s.Kind == Absent)
	}
	return s.Remains(at, left)
}

// life asks how long a key lives.
func (m *machine[S, I, O]) life(ctx context.Context, key string) (time.Duration, Moment) {
	reply, at, err := m.raw(ctx, "PTTL", key)
	must.Do(err)
	return must.Get(reply.Duration(time.Millisecond)), at
}

// keepIf keeps, of all that an object may be at a moment, what is says. It fails if nothing is left.
func (m *machine[S, I, O]) keepIf(
	o *object[S], at Moment, is func(s State[S]) bool, seen string, args ...any,
) {
	may := m.may(o, at)
	next := slices.DeleteFunc(slices.Clone(may), func(s State[S]) bool { return !is(s) })
	must.If(len(next) == 0, seen+", but it is %v", append(args, o)...)
	if !slices.Equal(next, o.states) {
		m.become(o, next, "", time.Now())
	}
}

// lookAtKey compares one of the keys of an object with the model.
func (m *machine[S, I, O]) lookAtKey(ctx context.Context, o *object[S], i int) {
	key := m.of.Stored(o.name, o.now())[i]
	if i == 0 && o.now().Kind == Other {
		return
	}
	reply, at, err := m.raw(ctx, key.reader(), key.Name)
	if i == 0 {
		m.keepIf(o, at, func(s State[S]) bool {
			return holds(m.of.Stored(o.name, s)[0], reply, err)
		}, "holds %v, %w", reply, err)
		return
	}
	must.If(!holds(key, reply, err), "key %s holds %v, %w, want %+v", key.Name, reply, err, key)
	if key.Text != "" {
		m.lookAtLife(ctx, key)
	}
}

// lookAtLife looks at the life of another key than the first.
func (m *machine[S, I, O]) lookAtLife(ctx context.Context, key Key) {
	left, at := m.life(ctx, key.Name)
	if key.Life == 0 {
		must.If(left != -time.Millisecond, "key %s lives for %v, want no end", key.Name, left)
		return
	}
	most := key.Life + max(0, key.After.Sub(at.From)) + time.Second
	must.If(left <= 0 || left > most, "key %s lives for %v, want up to %v", key.Name, left, most)
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
}

// reader is the command that reads a key.
func (k Key) reader() string {
	if k.Fields != nil {
		return "HGETALL"
	}
	return "GET"
}

// holds reports whether what its reader got is what a key is to hold.
func holds(key Key, reply backend.Reply, err error) bool {
	if err != nil {
		return false
	}
	items, itemsErr := reply.Items()
	if key.Fields != nil {
		return itemsErr == nil && key.alike(items)
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

// alike reports whether fields, each followed by its text, are those of a key.
func (k Key) alike(items []backend.Reply) bool {
	got := map[string]string{}
	for i := 0; i+1 < len(items); i += 2 {
		field, _ := items[i].Text()
		got[field], _ = items[i+1].Text()
	}
	if k.Alike != nil {
		return k.Alike(got)
	}
	return maps.Equal(got, k.Fields)
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
		return c.waits() && c.ended.IsZero() && !c.told.IsZero() && sound && p.deaf == 0 && m.Capabilities.PubSub
	})
}

// deserted checks that the right messages came to an object's channel, and that no client is subscribed
// to it any more.
func (m *machine[S, I, O]) deserted(ctx context.Context, o *object[S]) {
	if o.ear == nil {
		return
	}
	limited, cancel := context.WithTimeout(ctx, harness.Patience/6)
	defer cancel()
	o.ear.AwaitMessages(limited, o.messages...)
	m.AwaitSubscribers(limited, o.channel, 1)
}
