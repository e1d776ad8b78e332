"""Messages on the wire: MLflow's and our own API's, the filter language, page tokens, error codes. No I/O."""
