package idempotency

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/gofiber/fiber/v3"
	"github.com/gofiber/fiber/v3/middleware/adaptor"
	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/hasptest"
	"github.com/hasp-go/hasp/integration/httpidem"
)

// charge returns what the next run of a handler answers.
type charge func() (status int, body string)

// routers have a service that charges at /charges, behind the middleware as docs/integrations.md has it. A failure is an
// error of the router where there is such a thing.
var routers = map[string]func(*httpidem.Middleware, charge) http.Handler{
	"chi": func(idem *httpidem.Middleware, charge charge) http.Handler {
		router := chi.NewRouter()
		router.Use(idem.Handler)
		router.Post("/charges", func(w http.ResponseWriter, _ *http.Request) {
			status, body := charge()
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		})
		return router
	},
	"gin": func(idem *httpidem.Middleware, charge charge) http.Handler {
		gin.SetMode(gin.ReleaseMode)
		router := gin.New()
		router.POST("/charges", func(c *gin.Context) {
			if status, body := charge(); status < http.StatusInternalServerError {
				c.String(status, body)
			} else {
				c.AbortWithStatusJSON(status, gin.H{"error": body})
			}
		})
		return idem.Handler(router)
	},
	"echo": func(idem *httpidem.Middleware, charge charge) http.Handler {
		router := echo.New()
		router.POST("/charges", echoCharge(charge))
		return idem.Handler(router)
	},
	"fiber": func(idem *httpidem.Middleware, charge charge) http.Handler {
		app := fiber.New()
		app.Post("/charges", fiberCharge(charge))
		return idem.Handler(adaptor.FiberApp(app))
	},
}

func echoCharge(charge charge) echo.HandlerFunc {
	return func(c echo.Context) error {
		status, body := charge()
		if status >= http.StatusInternalServerError {
			return echo.NewHTTPError(status, body)
		}
		return c.String(status, body)
	}
}

func fiberCharge(charge charge) fiber.Handler {
	return func(c fiber.Ctx) error {
		status, body := charge()
		if status >= http.StatusInternalServerError {
			return fiber.NewError(status, body)
		}
		return c.Status(status).SendString(body)
	}
}

// traps are lines that look right: there the middleware has returned before the router has answered.
var traps = map[string]func(*httpidem.Middleware, charge) http.Handler{
	"echo": func(idem *httpidem.Middleware, charge charge) http.Handler {
		router := echo.New()
		router.Use(echo.WrapMiddleware(idem.Handler))
		router.POST("/charges", echoCharge(charge))
		return router
	},
	"fiber": func(idem *httpidem.Middleware, charge charge) http.Handler {
		app := fiber.New()
		app.Use(adaptor.HTTPMiddleware(idem.Handler))
		app.Post("/charges", fiberCharge(charge))
		return adaptor.FiberApp(app)
	},
}

// answers asks three times with one key, and returns the statuses, the bodies and whether they are replays. The first run
// fails.
func answers(t *testing.T, router func(*httpidem.Middleware, charge) http.Handler) (all []string, runs int) {
	t.Helper()
	idem, err := httpidem.New(hasptest.New(t).Client(nil), "api", &httpidem.Options{
		Tenant: func(*http.Request) string { return "ann" },
	})
	require.NoError(t, err)
	server := httptest.NewServer(router(idem, func() (int, string) {
		runs++
		if runs == 1 {
			return http.StatusInternalServerError, "sorry"
		}
		return http.StatusCreated, "charged"
	}))
	t.Cleanup(server.Close)
	for range 3 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/charges", strings.NewReader("1250"))
		require.NoError(t, err)
		r.Header.Set("Idempotency-Key", "8e03978e")
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		all = append(all, strings.TrimSpace(response.Status+" "+string(body)+" "+response.Header.Get("Idempotent-Replayed")))
	}
	return all, runs
}

func TestRouters(t *testing.T) {
	t.Parallel()
	for name, router := range routers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, runs := answers(t, router)
			require.Contains(t, all[0], "500 Internal Server Error")
			require.Contains(t, all[0], "sorry")
			require.Equal(t, []string{"201 Created charged", "201 Created charged true"}, all[1:])
			require.Equal(t, 2, runs)
		})
	}
}

// TestTraps: docs/integrations.md warns of them for as long as they are.
func TestTraps(t *testing.T) {
	t.Parallel()
	for name, trap := range traps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all, _ := answers(t, trap)
			require.NotContains(t, all[2], "charged true")
		})
	}
}
