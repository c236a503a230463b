package semaphore

// Permits is a semaphore at one time: how many permits are free, and of a history what is in doubt.
type Permits struct {
	Free int64

	// takes and adds are the changes without an answer that may happen yet.
	takes, adds bag
	// loose are the takes whose callers have left. What they take comes back, as often as you like.
	loose bag
	// out and outDrained are what acquires and drains of loose have taken, and may come back.
	out, outDrained bag
}

// all stands in a bag of takes for a drain.
const all = -1

// doubt returns the semaphore of which in may happen.
func doubt(p Permits, in In, left bool) Permits {
	n := in.N
	if in.Op == Drain {
		n = all
	}
	switch {
	case in.Op == Add:
		p.adds = p.adds.with(n)
	case in.Op == Available:
	case left:
		p.loose = p.loose.with(n)
	default:
		p.takes = p.takes.with(n)
	}
	return p
}

// unseen returns what may come next without a message or a reply.
func unseen(p Permits) (next []Permits) {
	for _, n := range p.takes.distinct() {
		if after, taken := p.take(n); taken > 0 {
			after.takes = p.takes.without(n)
			next = append(next, after)
		}
	}
	for _, n := range p.adds.distinct() {
		after := p
		after.Free, after.adds = p.Free+n, p.adds.without(n)
		next = append(next, after)
	}
	return append(append(next, p.leave()...), p.comeBack()...)
}

// leave returns what p becomes when a take of loose takes something.
func (p Permits) leave() (next []Permits) {
	for _, n := range p.loose.distinct() {
		after, taken := p.take(n)
		if taken <= 0 {
			continue
		}
		after.loose = p.loose.without(n)
		if n == all {
			after.outDrained = p.outDrained.with(taken)
		} else {
			after.out = p.out.with(taken)
		}
		next = append(next, after)
	}
	return next
}

// comeBack returns what p becomes when something of out comes back.
func (p Permits) comeBack() (next []Permits) {
	for _, n := range p.out.distinct() {
		after := p
		after.Free, after.out, after.loose = p.Free+n, p.out.without(n), p.loose.with(n)
		next = append(next, after)
	}
	for _, n := range p.outDrained.distinct() {
		after := p
		after.Free, after.outDrained, after.loose = p.Free+n, p.outDrained.without(n), p.loose.with(all)
		next = append(next, after)
	}
	return next
}

// take returns the semaphore after n permits were taken, and how many; 0: there are too few.
func (p Permits) take(n int64) (Permits, int64) {
	if n == all {
		n = p.Free
	}
	if p.Free < n {
		return p, 0
	}
	p.Free -= n
	return p, n
}
