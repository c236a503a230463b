// Package worded joins errors to one error whose text is one line and says each thing once.
package worded

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// New returns an error that has the given text, and matches all of the given errors. It is for
// errors whose own texts would repeat it.
func New(text string, matches ...error) error { return &worded{text, matches} }

type worded struct {
	text    string
	matches []error
}

func (e *worded) Error() string { return e.text }

func (e *worded) Unwrap() []error { return e.matches }

// Join returns the errors that are not nil as one error, whose text is one line. If there is only one, Join
// returns it.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	texts := make([]string, len(errs))
	for i, err := range errs {
		texts[i] = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return New(strings.Join(texts, "; "), errs...)
}

// Text returns s as a tracer gets it. Names and the texts of servers are any bytes, but one that is no UTF-8 would cost
// the process all that it exports with it.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// WithCause adds to err the cause of ctx's end, if ctx has ended and err does not wrap it. It returns
// nil for nil: ctx may end at any time after the call.
func WithCause(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}
