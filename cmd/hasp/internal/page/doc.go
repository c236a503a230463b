// Package page serves pages that show objects of a Redis server, and what happens to them.
package page
