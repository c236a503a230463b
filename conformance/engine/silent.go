package engine

import "github.com/hasp-go/hasp/conformance/harness"

// over returns h as p sees it: if p has no messages, as if there were no pub/sub.
func (p *Primitive[S, I, O]) over(h *harness.Harness) *harness.Harness {
	if p.Retry == 0 {
		return h
	}
	silent := *h
	silent.Capabilities.PubSub = false
	if h.Bubble != nil {
		silent.Bubble = func() *harness.Harness { return p.over(h.Bubble()) }
	}
	return &silent
}

// needs returns needs as p has them: if p has no messages, what needs pub/sub is left out.
func (p *Primitive[S, I, O]) needs(needs []harness.Need) []harness.Need {
	if p.Retry == 0 {
		return needs
	}
	return append([]harness.Need{func(h *harness.Harness) string {
		if harness.Lacks(h, needs) == "" && harness.Lacks(p.over(h), needs) != "" {
			return harness.SkipNoMessages
		}
		return ""
	}}, needs...)
}
