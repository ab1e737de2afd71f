import { load } from '../http.js';
import { serve } from './program.js';

// The clients, in a process of their own.
serve({ load });
