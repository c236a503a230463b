--- Sets a field of a JSON document.
---@key document string
---@arg field string
---@arg value string
---@return bytes json
local text = redis.call('GET', document)
local doc = text and cjson.decode(text) or {}
doc[field] = value
text = cjson.encode(doc)
redis.call('SET', document, text)
return text
