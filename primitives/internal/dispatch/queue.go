package dispatch

import "time"

// queue has the calls that are to be sent.
type queue struct {
	// urgent has what must be sent whatever becomes of its caller, as releases, and what this module sends by
	// itself, as renewals. Others wait for what they end, or lose what they keep.
	urgent []*Request
	others []*Request

	taken []*Request // what take returns
}

// add adds r at the end.
func (q *queue) add(r *Request) {
	if r.AlwaysSend || r.Contained {
		q.urgent = append(q.urgent, r)
	} else {
		q.others = append(q.others, r)
	}
}

func (q *queue) size() int { return len(q.urgent) + len(q.others) }

// take removes up to n calls, the urgent ones first, and returns them, until forget is called. Where there are
// more, those whose callers leave within soon are left: they would be sent for nobody, and hold up others until these
// are late, too.
func (q *queue) take(n int, soon time.Duration) []*Request {
	q.urgent = q.pick(q.urgent, n, func(*Request) bool { return true })
	if len(q.others) > n-len(q.taken) {
		until := time.Now().Add(soon)
		q.others = q.pick(q.others, n, func(r *Request) bool { return !r.leavesBefore(until) })
	}
	q.others = q.pick(q.others, n, func(*Request) bool { return true })
	return q.taken
}

// forget forgets what take has returned.
func (q *queue) forget() {
	clear(q.taken)
	q.taken = q.taken[:0]
}

// pick takes calls for which wanted is true from a list, until n are taken, and returns the rest.
func (q *queue) pick(from []*Request, n int, wanted func(*Request) bool) (rest []*Request) {
	rest = from[:0]
	for _, r := range from {
		if len(q.taken) < n && wanted(r) {
			q.taken = append(q.taken, r)
		} else {
			rest = append(rest, r)
		}
	}
	clear(from[len(rest):])
	return rest
}

// leavesBefore reports whether r's caller will have left by then.
func (r *Request) leavesBefore(then time.Time) bool {
	deadline, ok := r.values.Deadline()
	return ok && deadline.Before(then)
}
