// Package problem has what a middleware answers by itself: problems by RFC 9457.
package problem

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is the body of such an answer.
type Problem struct {
	Type     string   `json:"type"`
	Title    string   `json:"title"`
	Status   int      `json:"status"`
	Detail   string   `json:"detail,omitempty"`
	Violated []string `json:"violated-policies,omitempty"`
}

// Of returns the problem of a status.
func Of(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// Write writes the answer. Zero means no Retry-After.
func (p *Problem) Write(w http.ResponseWriter, retryAfter int64) {
	if retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(retryAfter, 10))
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	body, _ := json.Marshal(p) // Texts and numbers can always be encoded.
	_, _ = w.Write(body)       // The client of the service may be gone.
}
