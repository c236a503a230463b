package httplimit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/integration/internal/problem"
	"github.com/hasp-go/hasp/primitives"
)

// quotaType is the problem type of a refusal, by the draft.
const quotaType = "https://iana.org/assignments/http-problem-types#quota-exceeded"

func quotaExceeded(refused []part) *problem.Problem {
	p := &problem.Problem{Type: quotaType, Title: "Request cannot be satisfied as assigned quota has been exceeded", Status: http.StatusTooManyRequests}
	for _, one := range refused {
		p.Violated = append(p.Violated, one.policy.Name)
	}
	return p
}

// seconds returns d in seconds, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// addFields adds the header fields of policies, and of those that have answered.
func addFields(h http.Header, policies []policy, parts []part) {
	for _, p := range policies {
		h.Add("RateLimit-Policy", p.field)
	}
	for _, p := range parts {
		if p.answered() {
			h.Add("RateLimit", p.policy.item+stateParameters(p.decision))
		}
	}
}

func policyParameters(limit primitives.Limit) string {
	parameters := ";q=" + strconv.Itoa(limit.Permits)
	if limit.Interval%time.Second == 0 {
		parameters += ";w=" + strconv.FormatInt(int64(limit.Interval/time.Second), 10)
	}
	return parameters
}

// stateParameters returns the parameters of a RateLimit item. Only a limiter without enough free permits knows for how
// long that lasts.
func stateParameters(d primitives.Decision) string {
	parameters := ";r=" + strconv.Itoa(d.Remaining)
	if d.NextAfter > 0 {
		parameters += ";t=" + strconv.FormatInt(seconds(d.NextAfter), 10)
	}
	return parameters
}

// printable reports whether a text can be a string of a structured field.
func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// stringItem returns a text as a string of a structured field, by RFC 9651.
func stringItem(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
