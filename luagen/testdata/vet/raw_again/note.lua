-- What is read, changed and written back has another form then.
local doc = cjson.decode(redis.call('get', KEYS[1]) or '{}')
doc.n = 1
redis.call('set', KEYS[1], cjson.encode(doc))
return cjson.encode(doc)
