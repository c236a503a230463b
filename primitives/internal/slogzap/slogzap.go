// Package slogzap makes a logger of zap that writes to a logger of log/slog. go.uber.org/zap/exp/zapslog is for the
// other direction.
package slogzap

import (
	"context"
	"log/slog"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// New returns a logger that writes to the given logger.
func New(to *slog.Logger) *zap.Logger { return zap.New(core{to.Handler()}) }

// core writes entries of zap to a handler.
type core struct{ to slog.Handler }

// Enabled implements [zapcore.Core].
func (c core) Enabled(level zapcore.Level) bool {
	return c.to.Enabled(context.Background(), slog.Level(4*level))
}

func (c core) With(fields []zapcore.Field) zapcore.Core {
	return core{c.to.WithAttrs(attrs(fields))}
}

func (c core) Check(e zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(e.Level) {
		return checked.AddCore(e, c)
	}
	return checked
}

func (c core) Write(e zapcore.Entry, fields []zapcore.Field) error {
	r := slog.NewRecord(e.Time, slog.Level(4*e.Level), e.Message, 0)
	r.AddAttrs(attrs(fields)...)
	return c.to.Handle(context.Background(), r)
}

// Sync implements [zapcore.Core].
func (core) Sync() error { return nil }

func attrs(fields []zapcore.Field) (all []slog.Attr) {
	for _, field := range fields {
		values := zapcore.NewMapObjectEncoder()
		field.AddTo(values)
		for key, value := range values.Fields {
			all = append(all, slog.Any(key, value))
		}
	}
	return all
}
