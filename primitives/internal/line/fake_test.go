package line_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/line"
	"github.com/hasp-go/hasp/primitives/internal/listen"
	"github.com/hasp-go/hasp/primitives/internal/listen/testdata/listentest"
)

// row is an object on a server whose releases grant it to the next in its queue.
type row struct {
	*listentest.Server
	holder  string
	until   time.Time // of the holder
	token   int64
	number  int64
	queue   []queuing
	shown   [][]string              // by beats
	refuses error                   // what beats get, if any
	late    bool                    // that is, when their time is over
	believe string                  // who believes to hold it
	ends    time.Time               // of that belief
	meets   func(*line.Beats) error // gets the answer of each beat
}

// queuing is one in the queue, with its last heartbeat.
type queuing struct {
	owner  string
	number int64
	sign   time.Time
	stamp  int64
}

func newRow(seed uint64) *row { return &row{Server: listentest.New(seed)} }

// places returns the queue.
func (r *row) places() []queuing {
	r.Lock()
	defer r.Unlock()
	return slices.Clone(r.queue)
}

// beats returns whom beats have shown.
func (r *row) beats() [][]string {
	r.Lock()
	defer r.Unlock()
	return slices.Clone(r.shown)
}

// held returns who holds the row.
func (r *row) held() string {
	r.Lock()
	defer r.Unlock()
	r.expire()
	return r.holder
}

func owners(queue []queuing) (all []string) {
	for _, q := range queue {
		all = append(all, q.owner)
	}
	return all
}

// Subscribe implements [backend.Subscriber]. A payload begins with its channel.
func (r *row) Subscribe(ctx context.Context, channel string, h backend.Handler) (backend.Subscription, error) {
	return r.Server.Subscribe(ctx, channel, func(e backend.Event) {
		to, payload, _ := strings.Cut(e.Payload, "|")
		if e.Kind == backend.EventMessage && to != channel {
			return
		}
		e.Payload = payload
		h(e)
	})
}

// expire ends a hold whose time has passed. The caller holds the mutex, as those of the following do.
func (r *row) expire() {
	if !time.Now().Before(r.until) {
		r.holder = ""
	}
}

// pass gives a free object to the first in the queue that lives, and returns what is to be published.
func (r *row) pass() (payload string) {
	if r.expire(); r.holder != "" {
		return ""
	}
	for len(r.queue) > 0 {
		first := r.queue[0]
		r.queue = r.queue[1:]
		if time.Since(first.sign) < worth*2/3 {
			r.holder, r.until = first.owner, first.sign.Add(worth)
			r.token++
			group, _, _ := strings.Cut(first.owner, ":")
			return fmt.Sprint(group, "|", first.owner, " ", r.token, " ", first.stamp)
		}
	}
	return ""
}

// do changes the row, and passes the object on.
func (r *row) do(change func()) {
	r.Lock()
	change()
	payload := r.pass()
	r.Unlock()
	if payload != "" {
		r.Publish(payload)
	}
}

func (r *row) release(owner string) {
	r.do(func() {
		if r.believe == owner {
			r.believe = ""
		}
		if r.holder == owner {
			r.holder = ""
		}
		r.queue = slices.DeleteFunc(r.queue, func(q queuing) bool { return q.owner == owner })
	})
}

func (r *row) enqueue(owner string, place, stamp int64) (answer line.Enqueued) {
	r.do(func() {
		r.Tries++
		r.expire()
		switch {
		case r.holder == owner, r.holder == "" && len(r.queue) == 0:
			r.holder, r.until = owner, time.Now().Add(time.Hour)
			r.token++
			answer.Granted = true
			return
		}
		if place == 0 {
			r.number++
			place = r.number
		}
		r.queue = slices.DeleteFunc(r.queue, func(q queuing) bool { return q.owner == owner })
		r.queue = append(r.queue, queuing{owner, place, time.Now(), stamp})
		slices.SortStableFunc(r.queue, func(a, b queuing) int { return int(a.number - b.number) })
		answer = line.Enqueued{Place: place, HeldFor: time.Until(r.until)}
	})
	return answer
}

func (r *row) beat(stamp int64, all []string) (beats line.Beats) {
	status := map[string]line.BeatStatus{}
	r.do(func() {
		r.shown = append(r.shown, all)
		for i := range r.queue {
			if q := &r.queue[i]; slices.Contains(all, q.owner) {
				q.sign, q.stamp, status[q.owner] = time.Now(), stamp, line.Waits
			}
		}
	})
	r.Lock()
	defer r.Unlock()
	if slices.Contains(all, r.holder) {
		status[r.holder], beats.Token = line.Holds, r.token
		r.until = later(r.until, time.Now().Add(worth))
	}
	for _, owner := range all {
		beats.Status = append(beats.Status, status[owner])
	}
	beats.HeldFor, beats.Rank = time.Until(r.until), -1
	return beats
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// lineClient is a client of a row; its owners begin with its group.
type lineClient struct {
	*row
	group  string
	client *listen.Client
	lines  *line.Lines
}

func (r *row) lineClient(t *testing.T, group string) *lineClient {
	t.Helper()
	c := &lineClient{row: r, group: fmt.Sprint(group, r.random63())}
	c.client = listen.New(r, time.Hour, zap.NewNop())
	c.lines = line.New(c.client)
	t.Cleanup(func() {
		c.client.Close()
		time.Sleep(time.Minute) // What is under way arrives.
	})
	return c
}

func (c *lineClient) line() line.Line {
	return line.Line{Key: "o", Channel: c.group, Wait: worth, Beater: c}
}

// wait waits in the line, and releases what it may have left there.
func (c *lineClient) wait(ctx context.Context, me *ticket) error {
	err := c.lines.Wait(ctx, c.line(), me)
	if err != nil {
		go c.surely(me.owner)
	}
	return err
}

// later waits in the background, and sends what it was granted.
func (c *lineClient) later(t *testing.T) chan *ticket {
	t.Helper()
	got := make(chan *ticket, 1)
	go func() {
		me := c.ticket()
		if err := c.wait(t.Context(), me); err != nil {
			t.Error(err)
		}
		got <- me
	}()
	synctest.Wait()
	return got
}

// useOnce waits until it has held the row once. Who is not patient gives up now and then, and comes again.
func (c *lineClient) useOnce(t *testing.T, patient bool) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		if !patient {
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Duration(c.random63()%200)*time.Millisecond)
		}
		me := c.ticket()
		err := c.wait(ctx, me)
		cancel()
		if err != nil {
			continue
		}
		if err := c.claims(me); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Duration(c.random63()%20) * time.Millisecond)
		c.surely(me.owner)
		c.lines.Forget(me.owner)
		return
	}
}

// random63 returns a number that is drawn.
func (r *row) random63() int64 {
	r.Lock()
	defer r.Unlock()
	return r.Rand.Int64()
}

// claims notes that one believes to hold the row, and returns an error if another does, too.
func (c *lineClient) claims(me *ticket) error {
	c.Lock()
	defer c.Unlock()
	if c.believe != "" && time.Now().Before(c.ends) && time.Now().Before(me.ends) {
		return fmt.Errorf("%s believes to hold it, and so does %s", me.owner, c.believe)
	}
	c.believe, c.ends = me.owner, me.ends
	return nil
}

// surely releases an owner, again and again until a request has arrived.
func (c *lineClient) surely(owner string) {
	for arrived := false; !arrived; {
		_, err := listentest.Send(context.Background(), c.Server, func() (none struct{}, granted bool) {
			c.release(owner)
			return none, false
		}, nil)
		arrived = err == nil
	}
}

// Beat implements [line.Beater].
func (c *lineClient) Beat(ctx context.Context, stamp int64, owners []string) (line.Beats, error) {
	if err := c.refusal(ctx); err != nil {
		return line.Beats{}, err
	}
	beats, err := listentest.Send(ctx, c.Server, func() (beats line.Beats, granted bool) {
		return c.beat(stamp, owners), false
	}, nil)
	if c.meets != nil && err == nil {
		err = c.meets(&beats)
	}
	return beats, err
}

// gap says that messages may have been missed.
func (r *row) gap() error {
	for _, h := range r.Handlers() {
		h(backend.Event{Kind: backend.EventResubscribed})
	}
	return nil
}

// refusal returns what beats get, if any.
func (r *row) refusal(ctx context.Context) error {
	r.Lock()
	refuses, late := r.refuses, r.late
	r.Unlock()
	if !late {
		return refuses
	}
	<-ctx.Done()
	return fmt.Errorf("%w: %w", ctx.Err(), refuses)
}

// Stray implements [line.Beater].
func (c *lineClient) Stray(owner string) { go c.surely(owner) }

// ticket implements [line.Ticket].
type ticket struct {
	client        *lineClient
	owner         string
	started, ends time.Time // of what it believes
	late          bool      // its first grant comes when its lease is over
}

func (c *lineClient) ticket() *ticket { return &ticket{client: c, owner: c.newOwner()} }

func (c *lineClient) newOwner() string { return fmt.Sprint(c.group, ":", c.random63()) }

func (t *ticket) Owner() string { return t.owner }

// Enqueue goes on as another owner if it gets no answer.
func (t *ticket) Enqueue(ctx context.Context, place, stamp int64) (line.Enqueued, error) {
	sent, owner := time.Now(), t.owner
	answer, err := listentest.Send(ctx, t.client.Server, func() (answer line.Enqueued, left bool) {
		return t.client.enqueue(owner, place, stamp), true
	}, func() { t.client.release(owner) }) // If it comes too late.
	switch {
	case err == nil && answer.Granted:
		t.started, t.ends = sent, sent.Add(time.Hour)
		return answer, nil
	case err == nil:
		return answer, nil
	case !errors.Is(err, listentest.ErrLost):
		return line.Enqueued{}, err
	}
	go t.client.surely(owner)
	t.owner = t.client.newOwner()
	return line.Enqueued{Outage: true}, nil
}

func (t *ticket) Granted(_ context.Context, _ int64, started time.Time, lasts time.Duration) bool {
	if t.late {
		t.late = false
		return false
	}
	t.started, t.ends = started, started.Add(lasts)
	return time.Now().Before(t.ends)
}
