package dispatch

import "time"

// queue has the calls that wait to be sent.
type queue struct {
	// urgent has calls that must be sent even if the caller leaves, such as releases, and calls of
	// this module itself, such as renewals. Other clients wait for the releases, and holders lose
	// their leases without the renewals.
	urgent []*Request
	others []*Request

	taken []*Request // the result of take
}

func (q *queue) add(r *Request) {
	if r.AlwaysSend || r.Contained {
		q.urgent = append(q.urgent, r)
	} else {
		q.others = append(q.others, r)
	}
}

func (q *queue) size() int { return len(q.urgent) + len(q.others) }

// take removes up to n calls, the urgent calls first, and returns them. The result is valid until
// forget is called. If there are more than n calls, take prefers callers that do not leave within
// soon: the answers to the others would come too late for them, and sending them would delay calls
// until these are late, too.
func (q *queue) take(n int, soon time.Duration) []*Request {
	q.urgent = q.pick(q.urgent, n, func(*Request) bool { return true })
	if len(q.others) > n-len(q.taken) {
		until := time.Now().Add(soon)
		q.others = q.pick(q.others, n, func(r *Request) bool { return !r.leavesBefore(until) })
	}
	q.others = q.pick(q.others, n, func(*Request) bool { return true })
	return q.taken
}

// forget forgets the calls that take has returned.
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

// leavesBefore reports whether the deadline of r's caller is before then.
func (r *Request) leavesBefore(then time.Time) bool {
	deadline, ok := r.values.Deadline()
	return ok && deadline.Before(then)
}
